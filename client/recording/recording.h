// Turns a recording of a real host into records that may be sent to us:
// one JSON object a line, in the format of tests/testdata/hccn_tool, without
// the site's addresses and names. `replay` runs such a file against a tool.
//
// Replaced, the same by the same in the whole file: IPv4, IPv6 and MAC
// addresses, names of this host and of switches, their domains. Removed: the
// owners of certificates, comments in hccn.conf, texts that people write into
// switches. Kept: which devices share a subnet, host numbers, the ranges that
// hccn_tool refuses, everything that the tool itself says.
#ifndef CLIENT_RECORDING_RECORDING_H_
#define CLIENT_RECORDING_RECORDING_H_

#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "client/recording/address_map.h"
#include "client/recording/run_record.pb.h"
#include "proto/host_recording.pb.h"

namespace clusterd {

// What `clusterd --record` wrote. InvalidArgument if it is not that, or not all
// of it.
absl::StatusOr<HostRecording> ParseHostRecording(const std::string& bytes);

// One record a run, ordered by device and then as they ran. The facts of the
// recording give product, versions, the host's names and each record's
// `precondition`.
std::vector<RunRecord> MakeRecords(const HostRecording& recording,
                                   const AddressMap& addresses);

// What is known about a device in the words that the simulated hccn_tool takes
// as the state of its devices, to be asked the same as the real one was:
//   ip.3=10.0.0.4; mask.3=255.255.255.0; gateway.3=10.0.0.254; link.3=1
// Facts that are missing, unset or empty give no key. `lldp_output` is what
// `-lldp -g` printed, its last newline included; empty: it was not asked. All
// other addresses are what `hide` makes of them.
std::string DeviceStateText(
    const DeviceFacts& device, absl::string_view lldp_output,
    const std::function<std::string(absl::string_view)>& hide);

// The simulated product nearest to the host, e.g. "A2" or "A2-Box16"; "A2" for
// a host that did not tell. The name alone cannot tell A1's mode, nor whether
// an A3 server is in a super pod: "A1-SMP" and "A3-no-pod" stand for these.
std::string NearestProduct(const HostFacts& facts);

// JSON lines with every field of the format in each line.
// Internal: a record holds a string that is not UTF-8; those of MakeRecords
// never do.
absl::StatusOr<std::string> FormatRecords(
    const std::vector<RunRecord>& records);

}  // namespace clusterd

#endif  // CLIENT_RECORDING_RECORDING_H_
