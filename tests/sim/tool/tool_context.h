// What one command of the tool works with.
#ifndef TESTS_SIM_TOOL_TOOL_CONTEXT_H_
#define TESTS_SIM_TOOL_TOOL_CONTEXT_H_

#include <ctime>
#include <functional>
#include <string>
#include <vector>

#include "tests/sim/tool/driver.h"
#include "tests/sim/tool/hccn_conf.h"
#include "tests/sim/tool/terminal.h"

namespace clusterd {
namespace sim {

struct ToolContext {
  Driver* driver = nullptr;
  HccnConf* conf = nullptr;
  Terminal* terminal = nullptr;
  // Where the server's files begin.
  std::string root;
  bool is_root = true;
  time_t now = 0;
  // -i N; the device the command is for. Unset (-1) with -a.
  int device = -1;
  // Appends a line to /var/log/hccn_tool/hccn_config.log.
  std::function<void(const std::string&)> log;

  const Product& product() const { return driver->product(); }
  std::string Key(const std::string& name) const {
    return name + "_" + std::to_string(device);
  }
};

// Arguments after `-cmd -option`.
using Arguments = std::vector<std::string>;

}  // namespace sim
}  // namespace clusterd

#endif  // TESTS_SIM_TOOL_TOOL_CONTEXT_H_
