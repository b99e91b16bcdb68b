// The hooks of schedulers, a row each: for clusterctl hook, the table in its
// help, and the daemon that answers them (daemon/agent/hooks/hook_service.h).
//
//   kJob       the controller's verdict; while the controller is away, fresh
//              facts of the host and a kept verdict. Drains under Slurm.
//   kHost      fresh facts of the host. Drains, and ends our own drain.
//   kAfterJob  the same, when the job's devices are idle or `grace` is over
//   kNothing   only gives the kept verdict's variables
//
// Slurm drains the node automatically if Prolog or Epilog does not exit with 0
// (slurm.conf(5)), so these two fail only for what this node causes. If a job
// as a whole has a problem, PrologSlurmctld refuses it, which drains no node.
// Slurm's own bounds are BatchStartTimeout and MessageTimeout, 10 s each unless
// set, and 60 s for a HealthCheckProgram; those of LSF and PBS are minutes or
// absent. A HealthCheckProgram that does not exit with 0 drains no node, but a
// starting slurmd repeats it until it does, and registers only then
// (slurm.conf(5) of later versions). A TaskProlog that fails ends the task.
#ifndef CONFIG_LAUNCH_HOOK_TABLE_H_
#define CONFIG_LAUNCH_HOOK_TABLE_H_

#include "absl/strings/string_view.h"
#include "proto/job.pb.h"

namespace clusterd {

enum class HookJudges { kJob, kHost, kAfterJob, kNothing };

struct HookRow {
  absl::string_view name;
  HookKind kind;  // UNSPECIFIED: clusterctl asks the controller.
  HookJudges judges;
  bool is_slurm;
  int wait_s;
  int refused;  // The exit status for REFUSE,
  int drained;  // and for REFUSE_AND_DRAIN.
  // The help's words about these, with the status.
  const char* on_refused = "hook-status";
  const char* on_drained = "hook-status";
};
inline constexpr HookRow kHooks[] = {
    {"slurm-prolog", HOOK_SLURM_PROLOG, HookJudges::kJob, true, 8, 0, 1,
     "hook-status", "hook-slurm-drains"},
    {"slurm-controller-prolog", HOOK_KIND_UNSPECIFIED, HookJudges::kJob, true,
     30, 1, 1, "hook-requeued", "hook-left-to-prolog"},
    {"slurm-health", HOOK_SLURM_HEALTH, HookJudges::kHost, true, 20, 0, 0,
     "hook-status", "hook-clusterd-drains"},
    {"slurm-task-prolog", HOOK_SLURM_TASK_PROLOG, HookJudges::kNothing, true, 3,
     0, 0},
    {"slurm-epilog", HOOK_SLURM_EPILOG, HookJudges::kAfterJob, true, 30, 0, 1,
     "hook-status", "hook-slurm-drains"},
    {"pbs", HOOK_PBS, HookJudges::kJob, false, 20, 1, 1},
    {"lsf", HOOK_LSF, HookJudges::kJob, false, 20, 1, 1},
    {"plain", HOOK_PLAIN, HookJudges::kJob, false, 20, 1, 1},
};

}  // namespace clusterd

#endif  // CONFIG_LAUNCH_HOOK_TABLE_H_
