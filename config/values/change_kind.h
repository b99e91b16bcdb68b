// The kinds of change as written in agent.yaml, findings and printed plans.
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

// Exact; nullopt for an unknown name.
std::optional<ChangeKind> ParseChangeKind(absl::string_view name);

// All of them, "observe" first.
std::vector<ChangeKind> AllChangeKinds();

// The kinds that this version knows; a newer host may name others.
std::set<ChangeKind> AllowedKinds(const HostAllows& allows);

// "observe, sysctl"; empty for none.
std::string KindsText(const std::set<ChangeKind>& kinds);

// "allow: [observe, sysctl]", in quotes.
std::string AllowLine(const std::set<ChangeKind>& kinds);

}  // namespace clusterd

#endif  // CONFIG_VALUES_CHANGE_KIND_H_
