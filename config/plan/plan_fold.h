// Folds a cluster plan for printing: what reads the same is said once, with all
// hosts that it is true of.
#ifndef CONFIG_PLAN_PLAN_FOLD_H_
#define CONFIG_PLAN_PLAN_FOLD_H_

#include <string>
#include <vector>

#include "proto/plan.pb.h"

namespace clusterd {

// Equal for steps that print the same, whatever their host and number.
std::string FoldKey(const PlanStep& step);
// Equal for hosts whose whole plans print the same.
std::string FoldKey(const HostPlan& plan);

// Hosts that share lines, and these lines. Pointers into the plan: of the first
// host that has them.
struct PlanFold {
  std::vector<std::string> hosts;  // In plan order.
  std::vector<const PlanStep*> steps;
  std::vector<const BlockedChange*> blocked;
};

// Every step and every blocked change of every host once, grouped by the set of
// hosts that it is true of; groups in the order of their first line, lines in
// the order of execution. Hosts with nothing to do are in no group.
// `plan` must outlive the result.
std::vector<PlanFold> FoldPlan(const ClusterPlan& plan);

// Hosts with no step and nothing blocked.
std::vector<std::string> HostsInOrder(const ClusterPlan& plan);

}  // namespace clusterd

#endif  // CONFIG_PLAN_PLAN_FOLD_H_
