// Writes what is known about a device in the words that the simulated hccn_tool
// takes as the state of its devices:
//   ip.3=10.0.0.4; mask.3=255.255.255.0; gateway.3=10.0.0.254; link.3=1
// With it the simulated tool can be asked the same as the real one was.
#ifndef CLIENT_RECORDING_DEVICE_STATE_TEXT_H_
#define CLIENT_RECORDING_DEVICE_STATE_TEXT_H_

#include <string>

#include "absl/strings/string_view.h"
#include "proto/facts.pb.h"

namespace clusterd {

// Facts that are missing, unset or empty give no key. `lldp_output` is what
// `-lldp -g` printed, its last newline included; empty: it was not asked.
std::string DeviceStateText(const DeviceFacts& device,
                            absl::string_view lldp_output);

// The simulated product nearest to the host, e.g. "A2" or "A2-Box16"; "A2" for
// a host that did not tell. The name alone cannot tell A1's mode, nor whether
// an A3 server is in a super pod: "A1-SMP" and "A3-no-pod" stand for these.
std::string NearestProduct(const HostFacts& facts);

}  // namespace clusterd

#endif  // CLIENT_RECORDING_DEVICE_STATE_TEXT_H_
