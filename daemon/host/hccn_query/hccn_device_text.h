// Reads the answers that one device words itself and hccn_tool only puts a
// heading over:
//   -arp -g        arp table:
//   -ip_route -g   ip route table:
//   -ip_rule -g    ip rule table:
//   -pci -g        pci:
//   -status -g     Netdev status:Settings for eth3:
//                          Speed: 200000Mb/s
// The headings are in the hccn_tool source (hicann/driver 05354178); no public
// text tells the rest, but that -status goes on as ethtool does. So the lines
// are kept as text. Text in, values out: runs nothing.
#ifndef DAEMON_HOST_HCCN_QUERY_HCCN_DEVICE_TEXT_H_
#define DAEMON_HOST_HCCN_QUERY_HCCN_DEVICE_TEXT_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace clusterd {

// The lines below the heading, printable, without blanks around and without
// empty lines; none if the device had nothing to say. For -status the first
// one is what follows the heading in its line. InvalidArgument, quoting the
// line, if the heading is missing.
absl::StatusOr<std::vector<std::string>> ParseHccnArpTable(
    absl::string_view output);
absl::StatusOr<std::vector<std::string>> ParseHccnIpRouteTable(
    absl::string_view output);
absl::StatusOr<std::vector<std::string>> ParseHccnIpRuleTable(
    absl::string_view output);
absl::StatusOr<std::vector<std::string>> ParseHccnPci(absl::string_view output);
absl::StatusOr<std::vector<std::string>> ParseHccnNetdevStatus(
    absl::string_view output);

}  // namespace clusterd

#endif  // DAEMON_HOST_HCCN_QUERY_HCCN_DEVICE_TEXT_H_
