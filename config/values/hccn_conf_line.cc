#include "config/values/hccn_conf_line.h"

#include <algorithm>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "config/values/sha256.h"
#include "config/values/text_form.h"

namespace clusterd {

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
      R"((?s)route_address_[\d.]+_netmask_[\d.]+_\d+=gateway_[\d.].*)",
      RE2::Latin1};
  return HasForm(line, *kForm);
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
