// Reads the addresses of one device that `-ip -g` does not tell (hccn_ip.h):
//   -vnic -g        vnic link status: UP
//                   vnic ipaddr: 192.168.2.199
//                   vnic netmask: 255.255.255.0
//   -ip -inet6 -g   ipv6_address:fd00::1
//                   prefix_length:64
// Texts from the hccn_tool source (hicann/driver ef377e95). Text in, value out:
// runs nothing. Both return InvalidArgument, quoting the line, if a line is
// missing, out of order or malformed.
#ifndef DAEMON_HOST_HCCN_QUERY_HCCN_ADDRESSES_H_
#define DAEMON_HOST_HCCN_QUERY_HCCN_ADDRESSES_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "config/spec/ipv4.h"

namespace clusterd {

// The virtual port to the other devices of the server or super pod.
struct HccnVnic {
  bool link_up = false;
  Ipv4Interface address;
};
absl::StatusOr<HccnVnic> ParseHccnVnic(absl::string_view output);

struct HccnIpv6 {
  std::string address;         // As it was printed, and an IPv6 address.
  uint32_t prefix_length = 0;  // 0 to 128.
};
absl::StatusOr<HccnIpv6> ParseHccnIpv6(absl::string_view output);

}  // namespace clusterd

#endif  // DAEMON_HOST_HCCN_QUERY_HCCN_ADDRESSES_H_
