// The table of the ways to launch: a row each. launch.cc fills in the values.
#ifndef CONFIG_LAUNCH_LAUNCH_METHODS_H_
#define CONFIG_LAUNCH_LAUNCH_METHODS_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "config/launch/launch.h"

namespace clusterd {

// Properties of a launch that decide which optional words it gets.
struct LaunchConditions {
  bool several_nodes = false;  // The job has more than one server.
  bool fixed_nodes = false;    // NNODES is a number.
  bool node_range = false;     // NNODES is "min:max".
  bool tiered = false;
  bool mpi_args = false;  // There are any.
  bool ssh_port = false;  // It is not 22.
  bool standalone = false;
  bool joined = false;  // Not standalone.
  bool rdzv_endpoint = false;
  bool rdzv_id = false;
  bool local_addr = false;
};

// A word, or an option with its value, of a command line. {NAME} is the value;
// $NAME is also the value, but a shell gets the name.
struct MethodWord {
  absl::string_view text;
  bool LaunchConditions::*when = nullptr;  // Null: always.
};

struct LaunchMethod {
  absl::string_view name;
  std::vector<MethodWord> words;  // In front of the script.
  // The shell's variable that holds all words but the first; empty: none.
  absl::string_view gathered_name;
  std::vector<absl::string_view> variables;
  bool exports = false;  // Its variables.
  std::vector<absl::string_view> sources;
  std::vector<SearchFolder> folders;
  bool takes_range = false;  // NNODES may be "min:max".
  bool of_torch = true;      // False: TensorFlow's.
  bool per_device = false;   // Started once for each device of a server.
  bool from_master = false;  // The master starts it everywhere, over ssh.
};

absl::Span<const LaunchMethod> AllLaunchMethods();

// Finds invalid options that do not depend on the job.
std::vector<FindingValue> FindOptionMistakes(const LaunchMethod& method,
                                             const LaunchOptions& options);

}  // namespace clusterd

#endif  // CONFIG_LAUNCH_LAUNCH_METHODS_H_
