// The table of the ways to launch: a row each. Part of launch.cc, which fills
// in the values.
#ifndef CONFIG_LAUNCH_LAUNCH_METHODS_H_
#define CONFIG_LAUNCH_LAUNCH_METHODS_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "config/launch/launch.h"

namespace clusterd {

enum class WordWhen {
  kAlways,
  kSeveralNodes,  // The job has more than one server.
  kFixedNodes,    // NNODES is a number.
  kNodeRange,     // NNODES is "min:max".
  kTiered,
  kMpiArgs,  // There are some.
  kSshPort,  // It is not 22.
  kStandalone,
  kJoined,  // Not standalone.
  kRdzvEndpoint,
  kRdzvId,
  kLocalAddr,
};

// A word, or an option with its value, of a command line. {NAME} is the value;
// $NAME is the value too, and in a shell stays the name.
struct MethodWord {
  absl::string_view text;
  WordWhen when = WordWhen::kAlways;
};

struct MethodFolder {
  absl::string_view name;
  absl::string_view folder;
};

struct LaunchMethod {
  absl::string_view name;
  std::vector<MethodWord> words;  // In front of the script.
  // The shell's variable that holds all words but the first; empty: none.
  absl::string_view gathered_name;
  std::vector<absl::string_view> variables;
  bool exports = false;  // The variables.
  std::vector<absl::string_view> sources;
  std::vector<MethodFolder> folders;
  bool takes_range = false;  // NNODES may be "min:max".
  bool of_torch = true;      // Else of TensorFlow.
  bool per_device = false;   // Started once for each device of a server.
  bool from_master = false;  // The master starts it everywhere, over ssh.
};

absl::Span<const LaunchMethod> AllLaunchMethods();

// What of the options cannot be, whatever the job is.
std::vector<std::string> FindOptionMistakes(const LaunchMethod& method,
                                            const LaunchOptions& options);

}  // namespace clusterd

#endif  // CONFIG_LAUNCH_LAUNCH_METHODS_H_
