// A controller's task as this host's audit file has it.
#ifndef DAEMON_AGENT_AUDITED_TASK_H_
#define DAEMON_AGENT_AUDITED_TASK_H_

#include <string>

#include "absl/strings/string_view.h"
#include "config/audit/audit_chain.h"
#include "proto/audit.pb.h"

namespace clusterd {

// Who asked and from where, as the controller tells it, and the newest line of
// its own file, which thereby stands in this host's.
template <typename Task>
AuditEntry AuditedTask(absl::string_view what, const Task& task) {
  AuditEntry entry;
  entry.set_what(std::string(what));
  entry.set_who(task.actor());
  entry.set_certificate(task.actor_certificate());
  // One that is older, and what it does by itself, names no address.
  entry.set_peer(task.actor_peer().empty() ? kControllerFile
                                           : task.actor_peer());
  if (task.has_controller_audit()) {
    *entry.add_heads() = task.controller_audit();
    entry.mutable_heads(0)->set_of(kControllerFile);
  }
  return entry;
}

}  // namespace clusterd

#endif  // DAEMON_AGENT_AUDITED_TASK_H_
