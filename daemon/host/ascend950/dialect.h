// Queries one Ascend 950 device and fills a classic one's facts. A fact is
// missing with that reason if the vendor's published texts lack or contradict
// the answer. Nothing is inferred from the classic tool.
//
// The network address belongs to the device's bond device. -dev_info is queried
// first: it names the bond and the ports.
//   address, gateway, mtu, lldp   the bond; bond<id> if the table has none, as
//                                 an interface without address is not in it
//   link                          UP or DOWN if all ETH ports agree
//   net_health, detect_address    the device
//   tls                           the device, by a separate call
// For a device with only UB ports the first five are missing as not supported.
#ifndef DAEMON_HOST_ASCEND950_DIALECT_H_
#define DAEMON_HOST_ASCEND950_DIALECT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "daemon/host/hccn/hccn_tool.h"
#include "proto/facts.pb.h"

namespace clusterd {
namespace ascend950 {

struct DeviceReading {
  DeviceFacts facts;
  // The device's slot number, the suffix of its bond and its lines of hccn.conf
  // (tool_cfg_ops.c). It comes from the table; without a bond there it is the
  // id, since the tool refuses bond<id> of another slot.
  uint32_t slot = 0;
  // The table named the bond, or the tool took the name bond<id>.
  bool slot_known = false;
};

// Returns the facts of `device`, the id that -i takes. The tool's reference
// calls it the logical id and equal to the NPU ID of `npu-smi info`. tls stays
// unset. REQUIRES: `session` is that device's, with an Ascend 950 tool.
DeviceReading ReadDevice(uint32_t device, HccnSession* session);

// Reads the TLS switch from the answer to -tls. The tool's source has a
// function that adds a missing tls_enable to /etc/hccn.conf, as the classic
// query does. Without that key this query therefore counts as one that writes.
TlsFact ReadTls(uint32_t device, const HccnAnswer& answer);

// Reads -dev_info, which only the Ascend 950 tool has, and the answers that
// differ from the classic tool's. `-ip`, `-gateway`, `-mtu`, `-netdetect`,
// `-net_health` and `-link` print the same lines (hicann/driver,
// hccn/ascend950, tool_shell_ops.c).
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
// The third table, the device's EIDs, is not read (sample and columns: "Ascend
// 950 HCCN Tool" reference, tool_dev_info.c). The parsers run nothing.

// Returns whether the switch of `device` is on. The line begins with "device
// 0," in the tool's source and with "dev_id:0," in its reference. Any other
// text is InvalidArgument, quoting the line.
absl::StatusOr<bool> ParseTls(absl::string_view output, uint32_t device);

// Returns the neighbour of a bond device. Each of its two slaves has its own:
//   both heard one       that of the first slave
//   none heard one       heard is false
//   one of them did      InvalidArgument: one fact cannot say both
//   one has no answer    InvalidArgument: the tool succeeds as long as one has
// The device produces the lines below the header; their form is known only from
// the classic tool. Without a header, or for another form: InvalidArgument.
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
// does not match its header, or for another type of port.
absl::StatusOr<DeviceInfo> ParseDeviceInfo(absl::string_view output);

}  // namespace ascend950
}  // namespace clusterd

#endif  // DAEMON_HOST_ASCEND950_DIALECT_H_
