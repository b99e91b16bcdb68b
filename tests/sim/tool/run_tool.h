// One run of the simulated hccn_tool: the classic, positional command line.
//   hccn_tool -i 3 -ip -g
// Order of checks, as the published tool has it: length of the line, `-i` or
// `-a`, who runs it, the command, the device id, the mainboard, the device's
// health, the option, the count of its arguments, then the command's own.
#ifndef TESTS_SIM_TOOL_RUN_TOOL_H_
#define TESTS_SIM_TOOL_RUN_TOOL_H_

#include <string>
#include <vector>

#include "tests/sim/tool/terminal.h"
#include "tests/sim/tool/tool_server.h"

namespace clusterd::sim {

// `arguments` without argv[0]. Returns the exit status. Does not return while
// the state says that the device hangs.
int RunTool(const std::vector<std::string>& arguments, const ToolServer& server,
            Terminal* terminal);

}  // namespace clusterd::sim

#endif  // TESTS_SIM_TOOL_RUN_TOOL_H_
