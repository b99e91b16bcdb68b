// One run of the simulated hccn_tool: the classic, positional command line.
//   hccn_tool -i 3 -ip -g
// Order of checks, as the published tool has it: length of the line, `-i` or
// `-a`, who runs it, the command, the device id, the mainboard, the device's
// health, the option, the count of its arguments, then the command's own.
#ifndef TESTS_SIM_TOOL_RUN_TOOL_H_
#define TESTS_SIM_TOOL_RUN_TOOL_H_

#include <sys/types.h>

#include <ctime>
#include <string>
#include <vector>

#include "tests/sim/tool/terminal.h"

namespace clusterd {
namespace sim {

struct ToolEnvironment {
  // Where the server's files begin: etc/hccn.conf, var/log/hccn_tool and
  // var/lib/hccn_sim/state.
  std::string root;
  uid_t uid = 0;
  time_t now = 0;
};

// The root that a program started as `argv0` from `executable` belongs to: the
// folder above usr/local/Ascend/driver/tools/hccn_tool in argv[0], else
// `configured` (HCCN_SIM_ROOT), else the same of the executable's own path.
// Empty if none of them says.
std::string FindToolRoot(const std::string& argv0,
                         const std::string& configured,
                         const std::string& executable);

// `arguments` without argv[0]. Returns the exit status.
int RunTool(const std::vector<std::string>& arguments,
            const ToolEnvironment& environment, Terminal* terminal);

}  // namespace sim
}  // namespace clusterd

#endif  // TESTS_SIM_TOOL_RUN_TOOL_H_
