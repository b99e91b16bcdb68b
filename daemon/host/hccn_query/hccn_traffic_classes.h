// Reads how one device treats the classes of its traffic:
//   -dscp_to_tc -g dscp 33   dscp      tc
//                              33       0
//   -pfc -g                  PFC configuration:
//                            priority   0 1 2 3 4 5 6 7
//                            enabled    0 0 0 0 1 0 0 0
// Texts from the hccn_tool source (hicann/driver ef377e95). Text in, values
// out: runs nothing. Both return InvalidArgument, quoting the line, for
// anything else.
#ifndef DAEMON_HOST_HCCN_QUERY_HCCN_TRAFFIC_CLASSES_H_
#define DAEMON_HOST_HCCN_QUERY_HCCN_TRAFFIC_CLASSES_H_

#include <array>
#include <cstdint>
#include <map>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace clusterd {

// Traffic class by DSCP, 0 to 63; at least one. Only those that were asked for
// are there.
absl::StatusOr<std::map<uint32_t, uint32_t>> ParseHccnDscpToTc(
    absl::string_view output);

// Whether priority flow control is on, by priority.
inline constexpr size_t kHccnPriorities = 8;
absl::StatusOr<std::array<bool, kHccnPriorities>> ParseHccnPfc(
    absl::string_view output);

}  // namespace clusterd

#endif  // DAEMON_HOST_HCCN_QUERY_HCCN_TRAFFIC_CLASSES_H_
