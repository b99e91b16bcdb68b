#include "daemon/host/hccn_query/hccn_counters.h"

#include <algorithm>
#include <limits>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "config/values/status_macros.h"
#include "daemon/host/hccn/hccn_output.h"

namespace clusterd {
namespace {

bool IsCounterName(absl::string_view name) {
  return std::all_of(name.begin(), name.end(), [](char c) {
    return absl::ascii_islower(c) || absl::ascii_isdigit(c) || c == '_';
  });
}

absl::StatusOr<std::vector<HccnCounter>> ParseCounters(
    const std::vector<absl::string_view>& lines, absl::string_view output) {
  if (lines.empty()) return UnexpectedHccnText(output, "counters");
  ASSIGN_OR_RETURN(const std::vector<HccnNamedValue> values,
                   ParseHccnNamedValues(lines));
  std::vector<HccnCounter> counters;
  for (const HccnNamedValue& named : values) {
    const absl::StatusOr<uint64_t> value =
        ParseHccnNumber(named.value, std::numeric_limits<uint64_t>::max());
    if (!IsCounterName(named.name) || !value.ok()) {
      return UnexpectedHccnText(absl::StrCat(named.name, ":", named.value),
                                "a counter like \"qp_active: 1\"");
    }
    counters.push_back({std::string(named.name), *value});
  }
  return counters;
}

}  // namespace

absl::StatusOr<std::vector<HccnCounter>> ParseHccnPacketStatistics(
    absl::string_view output) {
  ASSIGN_OR_RETURN(const std::vector<absl::string_view> lines,
                   HccnLinesBelow("packet statistics:", output));
  return ParseCounters(lines, output);
}

absl::StatusOr<std::vector<HccnCounter>> ParseHccnHardwareStatistics(
    absl::string_view output, uint32_t device) {
  ASSIGN_OR_RETURN(const std::vector<absl::string_view> lines,
                   HccnLinesOfDevice(device, output));
  return ParseCounters(lines, output);
}

}  // namespace clusterd
