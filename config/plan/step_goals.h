// What a step brings about, as target and value, so that two steps can be
// compared that were planned at different times:
//   device 3: gateway                  10.20.0.254
//   net.core.somaxconn                 65535
//   net.core.somaxconn at boot         65535
//   ufw: active                        no
//   ufw: lets in 22-22/tcp from 10.0.0.0/24   yes
//   hccn.conf: NO_FINAL_NEWLINE        repaired
// A target is one thing on the host: whichever step set it last decides.
#ifndef CONFIG_PLAN_STEP_GOALS_H_
#define CONFIG_PLAN_STEP_GOALS_H_

#include <set>
#include <string>
#include <vector>

#include "proto/facts.pb.h"
#include "proto/plan.pb.h"

namespace clusterd {

// In the step's own order; empty: a change that this version does not know.
std::vector<AppliedDrift::Goal> GoalsOf(const PlanStep& step);

// The same step once for each of its goals, in the order of GoalsOf.
std::vector<PlanStep> SplitByGoal(const PlanStep& step);

// Which targets later steps have taken over. Not safe for concurrent use.
class TakenTargets {
 public:
  // All goals of the step, and what it does beside them: an address change
  // drops the gateway of the old subnet; a firewall that is stopped lets
  // everything in; one that is opened is meant to run.
  void Add(const PlanStep& step);

  // Whether a step that was added later decides about this target.
  bool Has(const std::string& target) const;

 private:
  std::set<std::string> targets_;
};

}  // namespace clusterd

#endif  // CONFIG_PLAN_STEP_GOALS_H_
