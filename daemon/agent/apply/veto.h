// What this host allows: /etc/clusterd/agent.yaml
//   allow: [observe, sysctl, device-address]
// The host has the last word, whatever a controller sends. Without the file, or
// without the key, a host is only observed.
#ifndef DAEMON_AGENT_APPLY_VETO_H_
#define DAEMON_AGENT_APPLY_VETO_H_

#include <set>
#include <string>

#include "absl/status/status.h"
#include "config/spec/mistakes.h"
#include "config/spec/yaml_values.h"
#include "proto/plan.pb.h"

namespace clusterd {

class Veto {
 public:
  // Allows observing and nothing else.
  Veto() : allowed_({CHANGE_OBSERVE}) {}
  explicit Veto(std::set<ChangeKind> allowed) : allowed_(std::move(allowed)) {}

  // The key `allow` of agent.yaml's top mapping, which must be among its known
  // keys. Records what is wrong, with its place and the nearest known word. A
  // file with mistakes must not be used: then take Veto(), which allows
  // nothing.
  static Veto Read(const YamlMap& agent, Mistakes* mistakes);

  bool Allows(ChangeKind kind) const { return allowed_.count(kind) > 0; }

  // PermissionDenied, naming each kind that the plan needs and the host does
  // not allow, its steps, and what to write where.
  absl::Status Check(const HostPlan& plan) const;

  // "observe, sysctl".
  std::string ToString() const;

 private:
  std::set<ChangeKind> allowed_;
};

}  // namespace clusterd

#endif  // DAEMON_AGENT_APPLY_VETO_H_
