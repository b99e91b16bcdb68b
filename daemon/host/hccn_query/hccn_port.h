// Reads what hccn_tool says about one device's ports, that to the network and
// the virtual one to the other devices of the server or super pod:
//   -speed -g       Speed: 200000 Mb/s
//   -duplex -g      Duplex: Full
//   -vnic -g        vnic link status: UP
//                   vnic ipaddr: 192.168.2.199
//                   vnic netmask: 255.255.255.0
// Texts from the hccn_tool source (hicann/driver ef377e95). Text in, value out:
// runs nothing. Every function returns InvalidArgument, quoting the line, for
// anything it does not know: no guesses.
#ifndef DAEMON_HOST_HCCN_QUERY_HCCN_PORT_H_
#define DAEMON_HOST_HCCN_QUERY_HCCN_PORT_H_

#include <cstdint>
#include <optional>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "config/values/ipv4.h"

namespace clusterd {

// Megabits a second. Nothing: the tool said "Unknown!".
absl::StatusOr<std::optional<uint32_t>> ParseHccnSpeed(
    absl::string_view output);

// kUnknown: the tool's own "Unknown!".
enum class HccnDuplex { kFull, kHalf, kUnknown };
absl::StatusOr<HccnDuplex> ParseHccnDuplex(absl::string_view output);

struct HccnVnic {
  bool link_up = false;
  Ipv4Interface address;
};
absl::StatusOr<HccnVnic> ParseHccnVnic(absl::string_view output);

}  // namespace clusterd

#endif  // DAEMON_HOST_HCCN_QUERY_HCCN_PORT_H_
