// What this host allows: /etc/clusterd/agent.yaml
//   allow: [observe, sysctl, device-address]
// The host has the last word, whatever a controller sends. Without the file, or
// without the key, a host is only observed.
#ifndef DAEMON_AGENT_APPLY_VETO_H_
#define DAEMON_AGENT_APPLY_VETO_H_

#include <set>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "proto/plan.pb.h"

namespace clusterd {

class Veto {
 public:
  // Allows observing and nothing else.
  Veto() : allowed_({CHANGE_OBSERVE}) {}
  explicit Veto(std::set<ChangeKind> allowed) : allowed_(std::move(allowed)) {}

  // InvalidArgument with every mistake of the file, one a line, each with
  // file, line, column and the nearest known word. Only then use Veto(): a file
  // that cannot be understood allows nothing.
  static absl::StatusOr<Veto> Parse(absl::string_view file_name,
                                    absl::string_view yaml);

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
