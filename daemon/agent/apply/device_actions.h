// How the settings of a device are set: through hccn_tool, which writes the
// device and hccn.conf. Behind the rows of setting_actions.h, whose words about
// results and errors hold here too.
#ifndef DAEMON_AGENT_APPLY_DEVICE_ACTIONS_H_
#define DAEMON_AGENT_APPLY_DEVICE_ACTIONS_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "daemon/agent/apply/machine.h"
#include "daemon/host/change/mutation_token.h"
#include "proto/plan.pb.h"

namespace clusterd {

// Aborted, with both values.
absl::Status MovedError(absl::string_view what, absl::string_view planned,
                        absl::string_view now);

// True only if the device and its lines of hccn.conf are so.
absl::StatusOr<bool> IsSoOnDevice(Machine* machine, const PlanStep& step);

// What the step may change on its device, and the routes in hccn.conf that it
// drops: with `is_first`, the settings that others take along; and its own.
// FailedPrecondition if one of them cannot be told, or not be put back.
absl::StatusOr<SavedDevice> SaveDevice(Machine* machine, const PlanStep& step,
                                       bool is_first);

// Sets it, puts back what lines of hccn.conf the tool lost, of which `repaired`
// then tells, and reads device and file.
absl::Status SetOnDevice(const MutationToken& token, Machine* machine,
                         const PlanStep& step,
                         const std::vector<SavedResource>& saved,
                         std::string* repaired);

// Sets again what differs. What the tool said, or why the device cannot be put
// back; "": nothing had to be set.
std::string RestoreDevice(const MutationToken& token, Machine* machine,
                          const SavedDevice& saved);

// What is not as it was, with both values.
std::vector<std::string> DeviceDifferences(Machine* machine,
                                           const SavedDevice& saved);

}  // namespace clusterd

#endif  // DAEMON_AGENT_APPLY_DEVICE_ACTIONS_H_
