// The kinds of change as people write them: in agent.yaml, in findings, in a
// printed plan.
#ifndef CONFIG_SPEC_CHANGE_KIND_H_
#define CONFIG_SPEC_CHANGE_KIND_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "proto/plan.pb.h"

namespace clusterd {

// "observe", "sysctl", "device-address", "firewall", "tls", "hccn-conf"; a
// value that is none of them gives "unknown kind 17".
std::string ChangeKindName(ChangeKind kind);

// Exact; nullopt for anything else.
std::optional<ChangeKind> ParseChangeKind(absl::string_view name);

// All of them, "observe" first.
const std::vector<ChangeKind>& AllChangeKinds();

}  // namespace clusterd

#endif  // CONFIG_SPEC_CHANGE_KIND_H_
