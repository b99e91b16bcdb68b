// Whether a host's plan is one that a root daemon believes, and whether what
// its steps set is so: after an apply, and later, to tell drift
// (applied_drift.h).
#ifndef CONFIG_PLAN_PLAN_CHECK_H_
#define CONFIG_PLAN_PLAN_CHECK_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "config/plan/settings.h"
#include "proto/facts.pb.h"
#include "proto/plan.pb.h"

namespace clusterd {

// A host's report names every step, and a controller takes no longer list.
inline constexpr int kMaxPlanSteps = 8192;

// Every value must be one that config/plan itself could have planned, whoever
// sent it. InvalidArgument, naming the step and quoting the value: a step of a
// setting that this version does not know, of another kind than its setting's,
// or out of number; an address, netmask, port, source (wider than /16: plans
// open ports for exactly the cluster's hosts), device id (over 63), kernel
// parameter or path that clusterd never sets; steps that rest on no fact; a
// network namespace that is none, with a step that is no running kernel
// parameter, or with steps that do not rest on which one it is; over
// kMaxPlanSteps or 65536 facts.
absl::Status CheckHostPlan(const HostPlan& plan);

// One verdict for each step. Reserved ports may be more, and numbers larger,
// than what was applied. What has moved says more than what is not known: with
// both, kMoved. A firewall that is not installed any more stops nothing, and
// has not moved; one that was to let ports in and is stopped has, and so has
// one that lets them in now and not permanently. Keys of an /etc/hccn.conf that
// is gone have moved.
std::vector<StepVerdict> JudgeSteps(absl::Span<const PlanStep* const> steps,
                                    const HostFacts& facts);

struct DriftedStep {
  uint32_t step = 0;
  std::string why;  // As StepVerdict.
};

// The steps of an applied plan that are not so any more, or cannot be told.
std::vector<DriftedStep> FindDrift(const HostPlan& plan,
                                   const HostFacts& facts);

}  // namespace clusterd

#endif  // CONFIG_PLAN_PLAN_CHECK_H_
