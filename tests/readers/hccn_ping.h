// Reads the answers of hccn_tool's two pings, which the daemon does not ask:
// -ping -g address A:
//   device 3 PING 29.1.137.205
//   recv seq=0,time=1.418000ms
//   recv seq=1,time=0.034000ms
//   recv seq=2,time=0.040000ms
//   3 packets transmitted, 3 received, 0.00% packet loss
// and -hccs_ping -g address A or sdid S, between devices of one super pod:
//   device 1 PING 192.0.2.199
//
//   This pkt ping success!
//   recv seq 0, time = 12.345us, L1 plane check result = 0x0
//   …
//   3 packets transmitted, 3 received, 0.00% packets loss
//   max time 14.345us
// The first is a published capture, the second follows the format strings of
// the hccn_tool source (hicann/driver ef377e95); its numbers are invented.
// The exit status does not show loss: either ping may lose every packet and
// exit 0. Only this text shows it. Text in, value out: runs nothing.
#ifndef TESTS_READERS_HCCN_PING_H_
#define TESTS_READERS_HCCN_PING_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace clusterd {

struct HccnPing {
  uint32_t transmitted = 0;  // At least 1.
  uint32_t received = 0;     // At most `transmitted`.
  // The answer is -hccs_ping's: "packets loss", where -ping has "packet loss".
  bool hccs = false;
  // The vendor's failure texts that occur in the answer, each once, in
  // the order of their first line: "recv time out seq",
  // "Destination Host Unreachable", "Message too long" and -hccs_ping's
  // "This pkt ping not start to send!", "This pkt send fail!",
  // "This pkt check recv msg fail!". Why packets were lost; the numbers above
  // say how many.
  std::vector<std::string> markers;
};

// `output` is standard output. InvalidArgument, quoting the text, if the line
// with the loss is missing, repeated, cut or unfamiliar, or if its numbers
// disagree. They do with none transmitted, more received than transmitted, or a
// percentage that is a hundredth or more off.
absl::StatusOr<HccnPing> ParseHccnPing(absl::string_view output);

}  // namespace clusterd

#endif  // TESTS_READERS_HCCN_PING_H_
