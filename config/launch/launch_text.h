// A launch in its runnable forms: for a shell, as a file of variables, as JSON,
// or as the output of a Slurm task prolog. Equal launches give equal bytes.
#ifndef CONFIG_LAUNCH_LAUNCH_TEXT_H_
#define CONFIG_LAUNCH_LAUNCH_TEXT_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "config/launch/launch.h"
#include "google/protobuf/struct.pb.h"

namespace clusterd {

enum class LaunchForm {
  kShell,            // For bash.
  kDotenv,           // NAME=value, for docker --env-file and its like.
  kJson,             // The whole launch.
  kSlurmTaskProlog,  // export NAME=value: the rest of the line is the value.
};
std::vector<absl::string_view> LaunchForms();  // In the order of LaunchForm.

// The text to run on one node. It sources a file only if the file exists. A
// shell gets every text of a user or host as one quoted word. The forms of
// variables contain no command. REQUIRES: not kJson.
std::string NodeText(const Launch& launch, const NodeLaunch& node,
                     LaunchForm form);

// The launch as JSON:
//   {"schema_version": 1, "method": "torchrun", "notes": [], "nodes": [
//     {"host": "node0", "node_rank": 0, "source": [], "environment": {},
//      "command": [], "processes": 1, "remarks": []}]}
google::protobuf::Struct LaunchDocument(const Launch& launch);

}  // namespace clusterd

#endif  // CONFIG_LAUNCH_LAUNCH_TEXT_H_
