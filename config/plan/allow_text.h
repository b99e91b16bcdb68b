// What a host allows, and what to write where so that it allows more; said
// alike by a plan and by the host's refusal.
#ifndef CONFIG_PLAN_ALLOW_TEXT_H_
#define CONFIG_PLAN_ALLOW_TEXT_H_

#include <set>
#include <string>

#include "proto/facts.pb.h"
#include "proto/plan.pb.h"

namespace clusterd {

// The kinds that this version knows; a newer host may name others.
std::set<ChangeKind> AllowedKinds(const HostAllows& allows);

// "it allows observe, sysctl"; "it allows observe until its file is right".
std::string WhatIsAllowed(const HostAllows& allows);

// What a person does so that the host allows all of these:
//   put "allow: [observe, sysctl]" into /etc/clusterd/agent.yaml there
std::string HowToAllow(const HostAllows& allows,
                       const std::set<ChangeKind>& kinds);

}  // namespace clusterd

#endif  // CONFIG_PLAN_ALLOW_TEXT_H_
