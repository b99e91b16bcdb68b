// A simulated server's hccn_tool. README.md beside this file says how to set
// its devices and their faults.
#include "tests/sim/tool/run_tool.h"

int main(int argc, char** argv) {
  return clusterd::sim::RunAsProgram("simulated hccn_tool",
                                     clusterd::sim::RunTool, argc, argv);
}
