#include "config/values/hccn_conf_line.h"

#include <algorithm>
#include <iterator>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "config/values/ipv4.h"
#include "config/values/sha256.h"
#include "config/values/text_form.h"

namespace clusterd {
namespace {

bool IsAddress(absl::string_view value) {
  return Ipv4Address::Parse(value).ok();
}
bool IsSwitch(absl::string_view value) { return value == "0" || value == "1"; }
bool IsNumber(absl::string_view value) {
  return !value.empty() && absl::c_all_of(value, absl::ascii_isdigit);
}
bool IsMac(absl::string_view value) {
  static const LazyRE2 kForm = {"(?:[0-9a-fA-F]{2}:){5}[0-9a-fA-F]{2}"};
  return HasForm(value, *kForm);
}
bool IsIpRoute(absl::string_view value) {
  static const LazyRE2 kForm = {" *add [^=]+"};
  return HasForm(value, *kForm);
}
// Of which no public source tells the form. No value has a "=".
bool IsAny(absl::string_view value) {
  return !value.empty() && !absl::StrContains(value, '=');
}

struct RecoveredKey {
  absl::string_view key;
  bool (*may_be)(absl::string_view value);
};

// Seen to make the recovery of their device fail.
constexpr RecoveredKey kRecoveredKeys[] = {
    {"address", IsAddress},   {"netmask", IsAddress},
    {"gateway", IsAddress},   {"netdetect", IsAddress},
    {"mtu", IsNumber},        {"mac_addr", IsMac},
    {"tls_enable", IsSwitch}, {"tls_ca_recovered", IsSwitch},
    {"ip_route", IsIpRoute},  {"send_arp_status", IsSwitch},
    {"arp", IsAny},           {"ip_rule", IsAny},
    {"bitmap", IsAny},        {"roce_port", IsAny},
    {"bw_limit", IsAny},      {"tc_cfg", IsAny},
    {"prio_tc", IsAny},       {"lldp_portid_type", IsAny},
    {"static_speed", IsAny},
};

// nullptr: no line with such a key.
const RecoveredKey* FindKey(absl::string_view line) {
  static const LazyRE2 kForm = {R"((?s)(\w+)_(?:0|[1-9]\d?)=.*)", RE2::Latin1};
  absl::string_view key;
  if (!HasForm(line, *kForm, &key)) return nullptr;
  const auto* found = absl::c_find_if(
      kRecoveredKeys,
      [key](const RecoveredKey& row) { return row.key == key; });
  return found == std::end(kRecoveredKeys) ? nullptr : found;
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
      R"((?s)route_address_([\d.]+)_netmask_([\d.]+)_\d+=gateway_([\d.]+).*)",
      RE2::Latin1};
  absl::string_view destination, netmask, gateway;
  return HasForm(line, *kForm, &destination, &netmask, &gateway) &&
         IsAddress(destination) && IsAddress(netmask) && IsAddress(gateway);
}

bool IsRecoveredLine(absl::string_view line) {
  return FindKey(line) != nullptr;
}

bool MayBeRecovered(absl::string_view line) {
  const absl::string_view value = line.substr(HccnConfKeyOf(line).size() + 1);
  return FindKey(line)->may_be(value);
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
