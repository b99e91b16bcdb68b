#include "daemon/host/hccn_query/hccn_traffic_classes.h"

#include <limits>
#include <vector>

#include "config/values/status_macros.h"
#include "daemon/host/hccn/hccn_output.h"

namespace clusterd {

absl::StatusOr<std::map<uint32_t, uint32_t>> ParseHccnDscpToTc(
    absl::string_view output) {
  constexpr uint64_t kMaxDscp = 63;
  constexpr uint64_t kMaxClass = std::numeric_limits<uint32_t>::max();
  const std::vector<absl::string_view> lines = HccnDataLines(output);
  if (lines.size() < 2 ||
      HccnWords(lines[0]) != std::vector<absl::string_view>{"dscp", "tc"}) {
    return UnexpectedHccnText(output, "\"dscp tc\" and a line for each DSCP");
  }
  std::map<uint32_t, uint32_t> classes;
  for (size_t i = 1; i < lines.size(); ++i) {
    const std::vector<absl::string_view> words = HccnWords(lines[i]);
    if (words.size() != 2) {
      return UnexpectedHccnText(lines[i], "a DSCP and its traffic class");
    }
    ASSIGN_OR_RETURN(const uint64_t dscp, ParseHccnNumber(words[0], kMaxDscp));
    ASSIGN_OR_RETURN(const uint64_t tc, ParseHccnNumber(words[1], kMaxClass));
    if (!classes.emplace(dscp, tc).second) {
      return UnexpectedHccnText(lines[i], "each DSCP once");
    }
  }
  return classes;
}

absl::StatusOr<std::array<bool, kHccnPriorities>> ParseHccnPfc(
    absl::string_view output) {
  ASSIGN_OR_RETURN(const std::vector<absl::string_view> lines,
                   HccnLinesBelow("PFC configuration:", output));
  if (lines.size() != 2) {
    return UnexpectedHccnText(output, "two lines below \"PFC configuration:\"");
  }
  const std::vector<absl::string_view> priorities = HccnWords(lines[0]);
  if (priorities != HccnWords("priority 0 1 2 3 4 5 6 7")) {
    return UnexpectedHccnText(lines[0], "\"priority 0 1 2 3 4 5 6 7\"");
  }
  const std::vector<absl::string_view> enabled = HccnWords(lines[1]);
  if (enabled.size() != kHccnPriorities + 1 || enabled[0] != "enabled") {
    return UnexpectedHccnText(lines[1], "\"enabled\" and eight values");
  }
  std::array<bool, kHccnPriorities> pfc{};
  for (size_t i = 0; i < kHccnPriorities; ++i) {
    const absl::string_view value = enabled[i + 1];
    if (value != "0" && value != "1") {
      return UnexpectedHccnText(lines[1], "0 or 1 for each priority");
    }
    pfc[i] = value == "1";
  }
  return pfc;
}

}  // namespace clusterd
