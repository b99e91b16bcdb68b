// Reads what hccn_tool says about one device's traffic: its counters, its
// routes, and how it treats the classes.
//   -stat -g         packet statistics:
//                    mac_tx_mac_pause_num:0
//                    roce_rx_err_pkt_num:0
//   -hw_stats -g     [devid 3] pd_alloc: 1
//                    [devid 3] qp_active: 1
//   -route -g        Routing table:
//                    Destination Gateway  Genmask     Flags … Use Iface
//                    default     29.1.0.1 0.0.0.0     UG    … 0   eth3
//                    29.1.0.0    *        255.255.0.0 U     … 0   eth3
//   -dscp_to_tc -g   dscp      tc
//     dscp 33        33       0
//   -pfc -g          PFC configuration:
//                    priority   0 1 2 3 4 5 6 7
//                    enabled    0 0 0 0 1 0 0 0
// Texts from the hccn_tool source (hicann/driver ef377e95 and 05354178); the
// routes below their heading are the device's, in the form of busybox route
// (published captures). Text in, values out: runs nothing. Every function
// returns InvalidArgument, quoting the line, for anything else.
#ifndef DAEMON_HOST_HCCN_QUERY_HCCN_TRAFFIC_H_
#define DAEMON_HOST_HCCN_QUERY_HCCN_TRAFFIC_H_

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "config/values/ipv4.h"

namespace clusterd {

struct HccnCounter {
  std::string name;  // Lower-case letters, digits and underscores.
  uint64_t value = 0;
};

// At least one counter, each name once, in the tool's order. Which there are
// depends on the build, so none is required by name.
absl::StatusOr<std::vector<HccnCounter>> ParseHccnPacketStatistics(
    absl::string_view output);
absl::StatusOr<std::vector<HccnCounter>> ParseHccnHardwareStatistics(
    absl::string_view output, uint32_t device);

struct HccnRoute {
  Ipv4Subnet destination;              // "default" is 0.0.0.0/0.
  std::optional<Ipv4Address> gateway;  // Nothing: "*", directly connected.
  std::string flags;                   // "UG", as it was printed.
  uint32_t metric = 0;
  std::string interface;
};

// In the tool's order; may be none. InvalidArgument also if a heading is
// missing, or a row has other columns, a name where an address belongs, a mask
// with a hole or a destination with host bits.
absl::StatusOr<std::vector<HccnRoute>> ParseHccnRoutes(
    absl::string_view output);

// Traffic class by DSCP, 0 to 63; at least one. Only those that were asked for
// are there.
absl::StatusOr<std::map<uint32_t, uint32_t>> ParseHccnDscpToTc(
    absl::string_view output);

// Whether priority flow control is on, by priority.
inline constexpr size_t kHccnPriorities = 8;
absl::StatusOr<std::array<bool, kHccnPriorities>> ParseHccnPfc(
    absl::string_view output);

}  // namespace clusterd

#endif  // DAEMON_HOST_HCCN_QUERY_HCCN_TRAFFIC_H_
