// Carries out one step of a plan and reads it back. What the machine says
// afterwards decides, not what a command or a write returned.
#ifndef DAEMON_AGENT_APPLY_STEP_RUNNER_H_
#define DAEMON_AGENT_APPLY_STEP_RUNNER_H_

#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "daemon/agent/apply/machine.h"
#include "daemon/host/change/mutation_token.h"
#include "proto/plan.pb.h"

namespace clusterd {

class StepRunner {
 public:
  // `machine` must outlive it.
  explicit StepRunner(Machine* machine) : machine_(machine) {}

  // Compares the machine with what the plan saw. True: it is already as the
  // step wants it, and nothing needs to be run. Aborted, with both values: it
  // is neither that nor as planned. FailedPrecondition: cannot be told.
  // Changes nothing.
  absl::StatusOr<bool> IsAlreadySo(const PlanStep& step);

  // Carries it out. `saved` is what ResourceKeeper::Save gave for this step.
  // Returns what was repaired on the way, e.g. lines of hccn.conf that the tool
  // lost; "" if nothing. FailedPrecondition, with both values and what the
  // tool said, if the machine is then not as the step wants it.
  absl::StatusOr<std::string> Run(const MutationToken& token,
                                  const PlanStep& step,
                                  const std::vector<SavedResource>& saved);

 private:
  // What one device and its lines of hccn.conf should say after a command.
  struct DeviceWish;

  static DeviceWish WishOf(const PlanStep& step);
  // "": device and file are as wished.
  std::string WhyNotSo(const DeviceWish& wish);
  absl::StatusOr<std::string> RunTool(const MutationToken& token,
                                      const DeviceWish& wish);
  absl::Status RunRepair(const MutationToken& token,
                         const HccnConfRepairChange& change);
  absl::Status RunSysctlFile(const MutationToken& token,
                             const SysctlFileChange& change);

  Machine* const machine_;
};

}  // namespace clusterd

#endif  // DAEMON_AGENT_APPLY_STEP_RUNNER_H_
