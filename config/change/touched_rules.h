// The rules that a plan's steps affect, and whether a check of them passes as
// planned. Pure.
#ifndef CONFIG_CHANGE_TOUCHED_RULES_H_
#define CONFIG_CHANGE_TOUCHED_RULES_H_

#include <set>
#include <string>

#include "config/words/words.h"
#include "proto/finding.pb.h"
#include "proto/plan.pb.h"

namespace clusterd {

// The rules that the plan's settings fix; if there are none, all rules.
RuleSelection TouchedRules(const ClusterPlan& plan);

// Findings on these hosts that are worse than the plan expects
// (HostPlan.unfixed): "firewall on node07 (fail), and 3 more"; "no facts of
// node07". Empty if all is as planned. A missing fact is never fine.
FindingValue WhatIsWrong(const ClusterPlan& plan,
                         const std::set<std::string>& hosts,
                         const Report& check);

}  // namespace clusterd

#endif  // CONFIG_CHANGE_TOUCHED_RULES_H_
