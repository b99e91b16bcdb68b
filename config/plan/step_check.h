// Whether what a step set is so: after an apply, and later, to tell drift
// (applied_drift.h).
#ifndef CONFIG_PLAN_STEP_CHECK_H_
#define CONFIG_PLAN_STEP_CHECK_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "proto/facts.pb.h"
#include "proto/plan.pb.h"

namespace clusterd {

struct StepVerdict {
  enum State {
    kSo,
    kMoved,
    kUntold,  // A fact that would tell is not known.
  };
  State state = kSo;
  // Both values: `device 3: address is 10.0.0.1/…, applied was 10.20.0.17/…`.
  std::string why;
};

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

#endif  // CONFIG_PLAN_STEP_CHECK_H_
