// Reads one device's IPv4 settings from what `hccn_tool -i <n> -ip -g` prints:
//   ipaddr:10.20.0.17
//   netmask:255.255.255.0
// Boards with several ports print one pair a port, and the published tool the
// same pair for each (hccn_tool source, hicann/driver ef377e95). Some captures
// have an empty line between the two. Text in, values out: runs nothing.
#ifndef DAEMON_HOST_HCCN_IP_H_
#define DAEMON_HOST_HCCN_IP_H_

#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "config/spec/ipv4.h"

namespace clusterd {

// At least one address with its mask, each once, in the tool's order.
// InvalidArgument, quoting the line, if a line is missing, out of order or
// malformed, or a mask has a hole. Never guesses a mask. "No address" is not
// here: the tool says it as a failure, see hccn_error.h.
absl::StatusOr<std::vector<Ipv4Interface>> ParseHccnIp(
    absl::string_view output);

}  // namespace clusterd

#endif  // DAEMON_HOST_HCCN_IP_H_
