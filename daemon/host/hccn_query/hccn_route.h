// Reads the routes of one device from what `hccn_tool -i <n> -route -g` prints:
//   Routing table:
//   Destination  Gateway   Genmask      Flags Metric Ref  Use Iface
//   default      29.1.0.1  0.0.0.0      UG    0      0      0 eth3
//   29.1.0.0     *         255.255.0.0  U     0      0      0 eth3
// The heading is the tool's (hccn_tool source, hicann/driver ef377e95), the
// rest the device's, in the form of busybox route (published captures). Text
// in, values out: runs nothing.
#ifndef DAEMON_HOST_HCCN_QUERY_HCCN_ROUTE_H_
#define DAEMON_HOST_HCCN_QUERY_HCCN_ROUTE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "config/values/ipv4.h"

namespace clusterd {

struct HccnRoute {
  Ipv4Subnet destination;              // "default" is 0.0.0.0/0.
  std::optional<Ipv4Address> gateway;  // Nothing: "*", directly connected.
  std::string flags;                   // "UG", as it was printed.
  uint32_t metric = 0;
  std::string interface;
};

// In the tool's order; may be none. InvalidArgument, quoting the line, if a
// heading is missing, or a row has other columns, a name where an address
// belongs, a mask with a hole or a destination with host bits.
absl::StatusOr<std::vector<HccnRoute>> ParseHccnRoutes(
    absl::string_view output);

}  // namespace clusterd

#endif  // DAEMON_HOST_HCCN_QUERY_HCCN_ROUTE_H_
