// Reads the answers of the Ascend 950 tool that differ from the classic tool's,
// and -dev_info, which that one does not have;
// `-ip`, `-gateway`, `-mtu`, `-netdetect`, `-net_health` and `-link` print the
// same lines as there (hicann/driver, hccn/ascend950, tool_shell_ops.c).
//   -tls    device 0, tls switch[1](0:disable, 1:enable), …
//   -lldp   [dev_name:ethc0d0e0] LLDP neighbor info:
//           Chassis ID TLV
//           …
//   -dev_info
//   | UDie ID | Port ID | Speed Ability(Gbps) | Port Type | Link Status | …
//   | 0       | 4       | 400                 | UB        | UP          | …
//   | Interface Name  | IP Address    | Netmask       | Bond Mode | Slaves |
//   | end0v0          | 192.168.2.199 | 255.255.255.0 | NA        | NA     |
//   | bond0           | 10.20.0.17    | 255.255.255.0 | 8023.ad   | ethc0  |
//   |                 |               |               |           | ethc1  |
// and a third table with the device's EIDs, which is not read (sample and
// columns: "Ascend 950 HCCN Tool" reference, tool_dev_info.c). Text in, value
// out: runs nothing.
#ifndef DAEMON_HOST_ASCEND950_ANSWERS_H_
#define DAEMON_HOST_ASCEND950_ANSWERS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "proto/facts.pb.h"

namespace clusterd {
namespace ascend950 {

// Whether the switch of device `device` is on. The line begins with "device 0,"
// in the tool's source and with "dev_id:0," in its reference.
// InvalidArgument, quoting the line, for anything else.
absl::StatusOr<bool> ParseTls(absl::string_view output, uint32_t device);

// The neighbour of a bond device. It has two slaves, each with its own:
//   both heard one       that of the first slave
//   none heard one       heard is false
//   one of them did      InvalidArgument: one fact cannot say both
//   one has no answer    InvalidArgument: the tool succeeds as long as one has
// What stands below the header is made on the device and known from the classic
// tool only: InvalidArgument, quoting it, if it is not of that form, or if
// there is no header.
absl::StatusOr<LldpNeighbour> ParseLldp(absl::string_view output);

struct Port {
  uint32_t udie = 0;
  uint32_t port = 0;
  std::string type;  // "UB" or "ETH".
};

struct DeviceInfo {
  // Empty where the tool prints no port table: a single Atlas 350 card.
  std::vector<Port> ports;
  // Names "bond<number>" of the interface table, the values of option -d. An
  // interface without any address is not in that table.
  std::vector<std::string> bonds;
};

// InvalidArgument, quoting the line, without an interface table, for a row that
// does not fit its header, or for another type of port.
absl::StatusOr<DeviceInfo> ParseDeviceInfo(absl::string_view output);

}  // namespace ascend950
}  // namespace clusterd

#endif  // DAEMON_HOST_ASCEND950_ANSWERS_H_
