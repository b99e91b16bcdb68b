// Reads how often one device's link went up and down, from what
// `hccn_tool -i <n> -link_stat -g` prints:
//   [devid 0]current time        : Wed Aug  2 03:09:26 2022
//   [devid 0]link up count       : 2
//   [devid 0]link down count     : 1
//   [devid 0]link change records :
//   [devid 0]    Tue Aug  1 14:43:40 2022    LINK UP
// Texts from the hccn_tool source (hicann/driver ef377e95); older drivers have
// no line with the downs. Text in, value out: runs nothing.
#ifndef DAEMON_HOST_HCCN_QUERY_HCCN_LINK_STAT_H_
#define DAEMON_HOST_HCCN_QUERY_HCCN_LINK_STAT_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/civil_time.h"

namespace clusterd {

struct HccnLinkChange {
  // By the device's clock in the time zone that the tool ran in. The weekday
  // that is printed before it is not compared: published samples have wrong
  // ones.
  absl::CivilSecond time;
  bool up = false;
};

struct HccnLinkStat {
  absl::CivilSecond current_time;
  uint64_t ups = 0;
  std::optional<uint64_t> downs;
  // As the tool lists them, newest first; it keeps the last ones only. Empty:
  // it said NA.
  std::vector<HccnLinkChange> changes;
};

// InvalidArgument, quoting the line, if a line is missing, out of order,
// malformed or another device's.
absl::StatusOr<HccnLinkStat> ParseHccnLinkStat(absl::string_view output,
                                               uint32_t device);

}  // namespace clusterd

#endif  // DAEMON_HOST_HCCN_QUERY_HCCN_LINK_STAT_H_
