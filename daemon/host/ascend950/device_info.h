// Reads the tables of `hccn_tool -g -dev_info -i <n>` on Ascend 950:
//   | UDie ID | Port ID | Speed Ability(Gbps) | Port Type | Link Status | …
//   | 0       | 4       | 400                 | UB        | UP          | …
//   | Interface Name  | IP Address    | Netmask       | Bond Mode | Slaves |
//   | end0v0          | 192.168.2.199 | 255.255.255.0 | NA        | NA     |
//   | bond0           | 10.20.0.17    | 255.255.255.0 | 8023.ad   | ethc0  |
//   |                 |               |               |           | ethc1  |
// and a third one with the device's EIDs, which is not read. Sample and columns
// from the "Ascend 950 HCCN Tool" reference and the tool's source
// (hicann/driver, hccn/ascend950, tool_dev_info.c). Runs nothing.
#ifndef DAEMON_HOST_ASCEND950_DEVICE_INFO_H_
#define DAEMON_HOST_ASCEND950_DEVICE_INFO_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace clusterd {
namespace ascend950 {

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

#endif  // DAEMON_HOST_ASCEND950_DEVICE_INFO_H_
