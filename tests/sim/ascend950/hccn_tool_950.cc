// A simulated Ascend 950 server's hccn_tool; run_tool_950.h lists its commands.
#include "tests/sim/ascend950/run_tool_950.h"

int main(int argc, char** argv) {
  return clusterd::sim::RunAsProgram("simulated Ascend 950 hccn_tool",
                                     clusterd::sim::RunTool950, argc, argv);
}
