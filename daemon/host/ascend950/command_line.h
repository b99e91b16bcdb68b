// Command lines of the Ascend 950 tool: mode first, options by name.
//   hccn_tool -g -ip -i 0 -d bond0
//   hccn_tool -g -link -i 0 -u 0 -p 4
// The classic tool refuses them, and this one refuses the classic ones. Forms
// from the "Ascend 950 HCCN Tool" reference (hicann/driver, docs/en) and the
// tool's source (hicann/driver, hccn/ascend950, tool_shell_ops.c).
#ifndef DAEMON_HOST_ASCEND950_COMMAND_LINE_H_
#define DAEMON_HOST_ASCEND950_COMMAND_LINE_H_

#include <cstdint>
#include <string>
#include <vector>

namespace clusterd {
namespace ascend950 {

enum class Query {
  // Of the whole device: -dev_info, -net_health, -netdetect, -tls,
  // -cfg_recovery.
  kDeviceInfo,
  kNetHealth,
  kDetectAddress,
  kTls,
  kRecoveryStatus,
  // Of its bond device, named with -d.
  kAddress,
  kGateway,
  kMtu,
  kLldp,
};

// Everything behind the program's path. `bond` is used by the queries that need
// a bond device, and must then be its name.
std::vector<std::string> QueryArguments(Query query, uint32_t device,
                                        const std::string& bond = "");

// -link of one port; ids as -dev_info lists them.
std::vector<std::string> LinkArguments(uint32_t device, uint32_t udie,
                                       uint32_t port);

// Sets the device as /etc/hccn.conf says; the driver runs it at boot.
std::vector<std::string> RecoveryArguments(uint32_t device);

}  // namespace ascend950
}  // namespace clusterd

#endif  // DAEMON_HOST_ASCEND950_COMMAND_LINE_H_
