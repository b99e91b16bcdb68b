// A simulated server's hccn_tool. README.md beside this file says how to set
// its devices and their faults.
#include <cstdio>
#include <cstdlib>
#include <iostream>

#include "tests/sim/tool/run_tool.h"

int main(int argc, char** argv) {
  const int status = clusterd::sim::RunAsProgram(
      "simulated hccn_tool", clusterd::sim::RunTool, argc, argv);
  // A check starts it some hundred times: under a sanitizer, looking for leaks
  // at each end would take longer than all else.
  std::cout.flush();
  std::fflush(nullptr);
  std::_Exit(status);
}
