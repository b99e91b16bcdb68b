// The server of one run of a simulated tool: the devices' state, hccn.conf, the
// user, and the log. A server is a root folder for the tools as programs; a
// test may have one in memory.
#ifndef TESTS_SIM_TOOL_TOOL_SERVER_H_
#define TESTS_SIM_TOOL_TOOL_SERVER_H_

#include <sys/types.h>

#include <ctime>
#include <functional>
#include <string>
#include <vector>

#include "tests/sim/tool/device_state.h"
#include "tests/sim/tool/hccn_conf.h"
#include "tests/sim/tool/terminal.h"

namespace clusterd::sim {

struct ToolServer {
  StateFile state;
  HccnConf conf;
  uid_t uid = 0;
  time_t now = 0;
  // True if the password file names the user.
  bool user_has_name = true;
  // True if the driver package has noted its installation.
  bool has_install_info = true;
  // Makes the folder of the log; false if another file is in its place.
  std::function<bool()> prepare_log = [] { return true; };
  std::function<void(const std::string&)> log = [](const std::string&) {};
  // Notes a call with these arguments, as the tool does for every call.
  std::function<void(const std::string&)> log_call = [](const std::string&) {};
};

// The server whose files begin at `root`: etc/hccn.conf, etc/passwd,
// var/log/hccn_tool and var/lib/hccn_sim/state.
ToolServer ServerBelow(const std::string& root, uid_t uid, time_t now);

// The root that a program started as `argv0` from `executable` belongs to: the
// folder above usr/local/Ascend/driver/tools/hccn_tool in argv[0], otherwise
// `configured` (HCCN_SIM_ROOT), otherwise the same of the executable's own
// path. Empty if none of them names one.
std::string FindToolRoot(const std::string& argv0,
                         const std::string& configured,
                         const std::string& executable);

// `arguments` without argv[0]. Returns the exit status.
using ToolFunction = int (*)(const std::vector<std::string>& arguments,
                             const ToolServer& server, Terminal* terminal);

// The main function of a simulated tool: finds its server, runs `tool` on
// descriptors 0 to 2 and returns its status. 127 without a server; a hint with
// the program's `name` is on standard error.
int RunAsProgram(const char* name, ToolFunction tool, int argc, char** argv);

}  // namespace clusterd::sim

#endif  // TESTS_SIM_TOOL_TOOL_SERVER_H_
