#include "config/values/hccn_conf_line.h"

#include <algorithm>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "config/values/sha256.h"
#include "config/values/text_form.h"

namespace clusterd {
namespace {

// No leading zeros, which the tool refuses.
constexpr char kAddress[] = R"((?:(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)\.){3})"
                            R"((?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d))";
// Of which no public source tells the form. No value has a "=".
constexpr char kAny[] = "[^=]+";

// Keys over whose values the recovery of their device was seen to fail, and the
// form that the tool itself gives them.
constexpr struct {
  absl::string_view key;
  const char* form;
} kRecoveredKeys[] = {
    {"address", kAddress},
    {"netmask", kAddress},
    {"gateway", kAddress},
    {"netdetect", kAddress},
    {"mtu", R"(\d+)"},
    {"mac_addr", "(?:[0-9a-fA-F]{2}:){5}[0-9a-fA-F]{2}"},
    {"tls_enable", "[01]"},
    {"tls_ca_recovered", "[01]"},
    {"send_arp_status", "[01]"},
    {"ip_route", R"( *add +\d[^=]*)"},
    {"ip_rule", " *add +[^=]+"},
    {"arp", "-i eth[^=]+"},
    {"bitmap", "[01](?:,[01]){7}"},
    {"bw_limit", R"(\d+)"},
    {"roce_port", R"(-?\d+)"},
    {"static_speed", R"(\d+)"},
    {"tc_cfg", kAny},
    {"prio_tc", kAny},
    {"lldp_portid_type", kAny},
};

// The form of the line's value; nullptr: no line with such a key.
const RE2* FormOf(absl::string_view line) {
  static const auto* const forms = [] {
    auto* made = new absl::flat_hash_map<absl::string_view, const RE2*>();
    for (const auto& row : kRecoveredKeys) {
      made->emplace(row.key, new RE2(row.form, RE2::Latin1));
    }
    return made;
  }();
  static const LazyRE2 kLine = {R"((?s)(\w+)_(?:0|[1-9]\d?)=.*)", RE2::Latin1};
  absl::string_view key;
  if (!HasForm(line, *kLine, &key)) return nullptr;
  const auto found = forms->find(key);
  return found == forms->end() ? nullptr : found->second;
}

}  // namespace

absl::string_view HccnConfKeyOf(absl::string_view line) {
  return line.substr(0, line.find('='));
}

bool IsToolsOwnLine(absl::string_view line) {
  static const LazyRE2 kForm = {
      R"((?:xsfp_reset_(?:max|wait)_times|tls_ca_recovered)_\d+)"};
  return absl::StrContains(line, '=') && HasForm(HccnConfKeyOf(line), *kForm);
}

bool IsRouteLine(absl::string_view line) {
  return absl::StartsWith(line, "route_") && absl::StrContains(line, '=');
}

bool IsScannedRoute(absl::string_view line) {
  static const LazyRE2 kForm = {
      R"((?s)route_address_\d+\.\d+\.\d+\.\d+_netmask_\d+\.\d+\.\d+\.\d+)"
      R"(_\d+=gateway_\d+\.\d+\.\d+\.\d+.*)",
      RE2::Latin1};
  return HasForm(line, *kForm);
}

bool IsRecoveredLine(absl::string_view line) {
  return FormOf(line) != nullptr || IsScannedRoute(line);
}

bool MayBeRecovered(absl::string_view line) {
  static const auto* const route = new RE2(
      absl::StrCat("(?s)route_address_", kAddress, "_netmask_", kAddress,
                   R"(_\d+=gateway_)", kAddress, R"((?:\D.*)?)"),
      RE2::Latin1);
  const RE2* const form = FormOf(line);
  if (form == nullptr) return HasForm(line, *route);
  return HasForm(line.substr(HccnConfKeyOf(line).size() + 1), *form);
}

std::string HccnConfDigest(absl::string_view text) {
  std::vector<absl::string_view> lines;
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    if (!line.empty() && !IsToolsOwnLine(line)) lines.push_back(line);
  }
  std::stable_sort(lines.begin(), lines.end(),
                   [](absl::string_view a, absl::string_view b) {
                     return HccnConfKeyOf(a) < HccnConfKeyOf(b);
                   });
  return Sha256Hex(absl::StrJoin(lines, "\n"));
}

}  // namespace clusterd
