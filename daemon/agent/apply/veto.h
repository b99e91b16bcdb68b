// The kinds of changes that this host allows, from the file of --config:
//   allow: [observe, sysctl, device-address]
// No controller can override it. Without the file, or without the key, a host
// is only observed.
#ifndef DAEMON_AGENT_APPLY_VETO_H_
#define DAEMON_AGENT_APPLY_VETO_H_

#include <set>

#include "absl/status/status.h"
#include "config/spec/mistakes.h"
#include "config/spec/yaml_document.h"
#include "proto/facts.pb.h"
#include "proto/plan.pb.h"

namespace clusterd {

// The same as reported with the host's facts. The caller sets the file's name.
HostAllows AllowsOnly(const std::set<ChangeKind>& kinds);

// Reads the key `allow` of agent.yaml's top mapping, which must be among its
// known keys. Records mistakes, with place and nearest known word. A file with
// mistakes must not be used: then only observing is allowed.
HostAllows ReadAllows(const YamlMap& agent, Mistakes* mistakes);

// PermissionDenied, naming each kind that the plan needs and the host does not
// allow, its steps, and what to add to which file, in the words of a plan.
absl::Status CheckAllowed(const HostPlan& plan, const HostAllows& allows);

}  // namespace clusterd

#endif  // DAEMON_AGENT_APPLY_VETO_H_
