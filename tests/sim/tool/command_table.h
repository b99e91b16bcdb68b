// Which command lines the tool knows: `-ip -g`, `-ip -s` with four arguments,
// and so on, and which handler does the work.
#ifndef TESTS_SIM_TOOL_COMMAND_TABLE_H_
#define TESTS_SIM_TOOL_COMMAND_TABLE_H_

#include <string>
#include <vector>

#include "tests/sim/tool/commands.h"
#include "tests/sim/tool/product.h"

namespace clusterd {
namespace sim {

struct CommandForm {
  // Words behind the command, e.g. {"-g"} or {"-inet6", "-s"}.
  std::vector<std::string> option;
  int min_arguments;
  int max_arguments;
  Outcome (*run)(ToolContext&, const Arguments&);
  // A success of these ends in "Cmd executed successfully!".
  bool changes;
};

struct CommandEntry {
  std::string name;
  // Part of the product's command list, which the published build leaves out.
  bool of_product_list;
  std::vector<CommandForm> forms;
  // Printed after the heading of a usage.
  std::string usage;
};

// Commands behind `-i N`, and behind `-a`. Null: the build has no such command.
const CommandEntry* FindCommand(const std::string& name, bool all_devices,
                                Product::Build build);

// What `-h` prints.
std::string ToolUsage();

}  // namespace sim
}  // namespace clusterd

#endif  // TESTS_SIM_TOOL_COMMAND_TABLE_H_
