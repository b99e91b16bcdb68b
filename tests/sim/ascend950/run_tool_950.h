// One run of the simulated Ascend 950 hccn_tool: mode first, options by name.
//   hccn_tool -g -ip -i 0 -d bond0
// It knows what is published about that tool and nothing else: the "Ascend 950
// HCCN Tool" reference and the strings of hicann/driver, hccn/ascend950. Any
// other command line ends with status 70 and says on standard error that the
// simulation does not know the answer, so that nobody learns it from here.
//
// | command line (behind the program)    | answers from the device's state |
// |--------------------------------------|-------------------------------------|
// | -g -dev_info -i N                    | ports.N, bond.N, ip.N, mask.N | | -g
// -link -i N -u U -p P              | ports.N                             | |
// -g -ip, -gateway, -mtu -i N -d bondN | ip.N, mask.N; gateway.N; mtu.N      |
// | -g -lldp -i N -d bondN               | lldp.N, lldp_second.N | | -g
// -net_health, -netdetect -i N      | net_health.N; netdetect.N           | |
// -g -tls -i N                         | tls.N                               |
// | -g -cfg_recovery -i N                | cfg_status.N | | -s -cfg_recovery -i
// N                | takes hccn.conf's values, as root   | | -s -gateway -i N
// -d bondN -address G | root, G in the subnet of hccn.conf  | The state is the
// classic simulation's; new are
//   ports.N=0/4/ETH/UP 0/5/ETH/DOWN   udie/port/type/link; two ETH ports UP
//   bond.N=4                          number of the bond device; N
//   lldp_second.N                     neighbour of the second slave; lldp.N
#ifndef TESTS_SIM_ASCEND950_RUN_TOOL_950_H_
#define TESTS_SIM_ASCEND950_RUN_TOOL_950_H_

#include <string>
#include <vector>

#include "tests/sim/tool/run_tool.h"
#include "tests/sim/tool/terminal.h"

namespace clusterd {
namespace sim {

// Exit status of what is not published.
inline constexpr int kNotPublished = 70;

// `arguments` without argv[0]. Returns the exit status.
int RunTool950(const std::vector<std::string>& arguments,
               const ToolEnvironment& environment, Terminal* terminal);

}  // namespace sim
}  // namespace clusterd

#endif  // TESTS_SIM_ASCEND950_RUN_TOOL_950_H_
