// Asks one Ascend 950 device what the observer asks a classic one, and fills
// the same facts. Where the vendor's published texts do not say how an answer
// looks, or it looks otherwise, the fact is missing with that reason: nothing
// is guessed from the classic tool.
//
// The network address belongs to the device's bond device. -dev_info is asked
// first: it names the bond and the ports.
//   address, gateway, mtu, lldp   the bond; bond<id> if the table has none, as
//                                 an interface without address is not in it
//   link                          UP or DOWN if all ETH ports agree
//   net_health, detect_address    the device
//   tls                           the device, by a call of its own
// A device with UB ports alone has none of the first five: they are then
// missing as not supported.
#ifndef DAEMON_HOST_ASCEND950_DIALECT_H_
#define DAEMON_HOST_ASCEND950_DIALECT_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "daemon/host/hccn/hccn_tool.h"
#include "proto/facts.pb.h"

namespace clusterd {
namespace ascend950 {

// What stands behind the program's path: mode first, options by name, and for a
// query about a bond device its name.
//   hccn_tool -g -ip -i 0 -d bond0
// The classic tool refuses such lines, and this one refuses the classic ones.
// Forms from the "Ascend 950 HCCN Tool" reference (hicann/driver, docs/en) and
// the tool's source (hicann/driver, hccn/ascend950, tool_shell_ops.c).
std::vector<std::string> QueryArguments(const std::string& query,
                                        uint32_t device,
                                        const std::string& bond = "");

// Runs the tool with these arguments and says what it brought, as HccnSession
// does: one run at a time per device, "busy" repeated with a bound, classified
// by hccn_error.h.
using AskTool =
    std::function<HccnAnswer(const std::vector<std::string>& arguments)>;

// Waits; false if that would leave no time.
using PauseTool = std::function<bool(absl::Duration)>;

struct DeviceReading {
  DeviceFacts facts;
  // The device's slot, which its bond is named after and in which its lines of
  // hccn.conf end (tool_cfg_ops.c). That of the table; without a bond there the
  // id, since the tool refuses the name bond<id> if that is another slot's.
  uint32_t slot = 0;
  // The table named the bond, or the tool took the name bond<id>.
  bool slot_known = false;
};

// Facts of device `device`, the id that -i takes: the tool's reference calls it
// the logical id and equal to the NPU ID of `npu-smi info`. Net health "Detect
// ip set" is asked again up to three times, a second apart. tls stays unset.
DeviceReading ReadDevice(uint32_t device, const AskTool& ask,
                         const PauseTool& pause);

// The TLS switch. The tool's source holds a function that writes tls_enable to
// /etc/hccn.conf when the key is absent, and only then, as the classic query
// does, so without the key this counts as a query that changes the host.
TlsFact ReadTls(uint32_t device, const AskTool& ask);

}  // namespace ascend950
}  // namespace clusterd

#endif  // DAEMON_HOST_ASCEND950_DIALECT_H_
