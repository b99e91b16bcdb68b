// The kinds of change as people write them: in agent.yaml, in findings, in a
// printed plan. And what a host allows, and what to write where so that it
// allows more; said alike by a plan and by the host's refusal.
#ifndef CONFIG_VALUES_CHANGE_KIND_H_
#define CONFIG_VALUES_CHANGE_KIND_H_

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "proto/facts.pb.h"
#include "proto/plan.pb.h"

namespace clusterd {

// "observe", "sysctl", "device-address", "firewall", "tls", "hccn-conf"; a
// value that is none of them gives "unknown kind 17".
std::string ChangeKindName(ChangeKind kind);

// Exact; nullopt for anything else.
std::optional<ChangeKind> ParseChangeKind(absl::string_view name);

// All of them, "observe" first.
std::vector<ChangeKind> AllChangeKinds();

// The kinds that this version knows; a newer host may name others.
std::set<ChangeKind> AllowedKinds(const HostAllows& allows);

// "allow: [observe, sysctl]", in quotes.
std::string AllowLine(const std::set<ChangeKind>& kinds);

// "it allows observe, sysctl"; "it allows observe until its file is right".
std::string WhatIsAllowed(const HostAllows& allows);

// What a person does so that the host allows all of these:
//   put "allow: [observe, sysctl]" into /etc/clusterd/agent.yaml there
std::string HowToAllow(const HostAllows& allows,
                       const std::set<ChangeKind>& kinds);

}  // namespace clusterd

#endif  // CONFIG_VALUES_CHANGE_KIND_H_
