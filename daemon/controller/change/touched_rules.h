// Which rules a plan's steps touch, and whether a check of them says that a
// change came out as it was meant. Pure.
#ifndef DAEMON_CONTROLLER_CHANGE_TOUCHED_RULES_H_
#define DAEMON_CONTROLLER_CHANGE_TOUCHED_RULES_H_

#include <set>
#include <string>

#include "proto/finding.pb.h"
#include "proto/plan.pb.h"

namespace clusterd {

// Rules that a setting of the plan mends. None: all rules count.
RuleSelection TouchedRules(const ClusterPlan& plan);

// What the check finds on these hosts and the plan did not leave on them by
// intent (HostPlan.unmended), or not as bad as it is now: "firewall on node07
// (fail), and 3 more"; "no facts of node07". Empty: the change came out as it
// was meant. Nothing that could not be told is fine.
std::string WhatIsWrong(const ClusterPlan& plan,
                        const std::set<std::string>& hosts,
                        const Report& check);

}  // namespace clusterd

#endif  // DAEMON_CONTROLLER_CHANGE_TOUCHED_RULES_H_
