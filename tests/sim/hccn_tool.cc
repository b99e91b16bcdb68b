// A simulated server's hccn_tool. README.md beside this file says how to set
// its devices and their faults.
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "tests/sim/tool/run_tool.h"
#include "tests/sim/tool/terminal.h"

int main(int argc, char** argv) {
  char self[4096];
  const ssize_t length = readlink("/proc/self/exe", self, sizeof(self));
  const char* configured = getenv("HCCN_SIM_ROOT");
  clusterd::sim::ToolEnvironment environment;
  environment.root = clusterd::sim::FindToolRoot(
      argc > 0 ? argv[0] : "", configured == nullptr ? "" : configured,
      std::string(self, length > 0 ? length : 0));
  environment.uid = geteuid();
  environment.now = time(nullptr);
  if (environment.root.empty()) {
    fputs(
        "simulated hccn_tool: no server to answer for: set HCCN_SIM_ROOT to "
        "the server's root folder, or start it as "
        "ROOT/usr/local/Ascend/driver/tools/hccn_tool\n",
        stderr);
    return 127;
  }
  const std::vector<std::string> arguments(argv + (argc > 0), argv + argc);
  clusterd::sim::PosixTerminal terminal;
  return clusterd::sim::RunTool(arguments, environment, &terminal);
}
