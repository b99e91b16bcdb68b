// One run of the simulated Ascend 950 hccn_tool: mode first, options by name.
//   hccn_tool -g -ip -i 0 -d bond0
// Command lines, texts and statuses are those of the "Ascend 950 HCCN Tool"
// reference, of the DCMI reference (-s -ip, -s -netdetect) and of the strings
// in hicann/driver, hccn/ascend950. Any other command line ends with status 70
// and "not modelled" on standard error, so that it is not taken for the
// vendor's answer.
//
// | behind the program               | the device's state               |
// |----------------------------------|----------------------------------|
// | -g -dev_info -i N                | ports.N, bond.N, ip.N, mask.N    |
// | -g -link -i N -u U -p P          | ports.N, link.N                  |
// | -g -ip -i N -d bondN             | ip.N, mask.N                     |
// | -g -gateway -i N -d bondN        | gateway.N                        |
// | -g -mtu -i N -d bondN            | mtu.N                            |
// | -g -lldp -i N -d bondN           | lldp.N, lldp_second.N            |
// | -g -net_health -i N              | net_health.N; without it Init    |
// |                                  | or Success, as netdetect.N has it|
// | -g -netdetect -i N               | netdetect.N                      |
// | -g -tls -i N                     | tls.N                            |
// | -g -process -i N                 | process.N                        |
// | -g -cfg_recovery -i N            | cfg_status.N                     |
// | -s -ip -i N -d bondN             | root; not in a virtual NIC's     |
// |    -address A -netmask M         | subnet                           |
// | -s -gateway -i N -d bondN        | root; in the subnet of hccn.conf |
// |    -address G                    |                                  |
// | -s -netdetect -i N -address A    | root                             |
// | -s -tls -i N -enable 0|1         | root                             |
// | -s -cfg_recovery -i N            | root; takes hccn.conf's values   |
//
// The state is the classic simulation's (../README.md); new are
//   ports.N=0/4/ETH/UP 0/5/ETH/DOWN  udie/port/type/link; two ETH ports UP.
//                                    link.N=0 turns every ETH port DOWN
//   bond.N=4                         slot: number of the bond and of the
//                                    device's lines in hccn.conf; N
//   lldp_second.N                    neighbour of the second slave; lldp.N
#ifndef TESTS_SIM_ASCEND950_RUN_TOOL_950_H_
#define TESTS_SIM_ASCEND950_RUN_TOOL_950_H_

#include <string>
#include <vector>

#include "tests/sim/tool/terminal.h"
#include "tests/sim/tool/tool_server.h"

namespace clusterd::sim {

// Exit status of a command that is not modelled.
inline constexpr int kNotModelled = 70;

// `arguments` without argv[0]. Returns the exit status.
int RunTool950(const std::vector<std::string>& arguments,
               const ToolServer& server, Terminal* terminal);

}  // namespace clusterd::sim

#endif  // TESTS_SIM_ASCEND950_RUN_TOOL_950_H_
