// The part of a host's plan that puts back what drifted, and nothing else: what
// the controller may do by itself where the spec says `enforce`. Pure.
#ifndef CONFIG_PLAN_DRIFT_REPAIR_H_
#define CONFIG_PLAN_DRIFT_REPAIR_H_

#include <string>
#include <vector>

#include "absl/types/span.h"
#include "proto/facts.pb.h"
#include "proto/plan.pb.h"

namespace clusterd {

struct DriftRepair {
  // `planned` with the steps that are left, numbered anew; none: nothing is to
  // be done by itself.
  HostPlan plan;
  // Drift of an enforced kind that is left to a person, one line each, e.g.
  // "net.core.somaxconn: the spec asks for 32768 now, apply 0123 set 65535", or
  // why the plan blocks that kind, such as what the host allows.
  std::vector<std::string> left;
};

// `planned` is what the spec asks for now. Of it a step stays if
//   its target drifted, and the kinds of the drift and of the step are both in
//   `enforced`; and
//   it sets what that apply had set, not what the spec has become since; and
//   nothing else is lost with it: an address whose change drops a gateway or
//   route stays only if a step that stays sets that gateway again.
// Of a step that sets several things only those that drifted stay. Reserved
// ports may be more: what others reserved meanwhile is kept.
DriftRepair PlanDriftRepair(const HostPlan& planned,
                            const DriftFact::Drifts& drifts,
                            absl::Span<const std::string> enforced);

// Whether any of it is drift of such a kind.
bool HasEnforcedDrift(const DriftFact& drift,
                      absl::Span<const std::string> enforced);

}  // namespace clusterd

#endif  // CONFIG_PLAN_DRIFT_REPAIR_H_
