// Who calls, as the audit file has it: from the verified certificate and the
// connection, whether or not the call is then admitted.
#ifndef DAEMON_CONTROLLER_HOSTS_AUDIT_CALLER_H_
#define DAEMON_CONTROLLER_HOSTS_AUDIT_CALLER_H_

#include "absl/strings/string_view.h"
#include "grpcpp/server_context.h"
#include "proto/audit.pb.h"

namespace clusterd {

// who, certificate, peer, `call` as what, and the subject.
AuditEntry AuditCaller(const grpc::CallbackServerContext& context,
                       absl::string_view call, absl::string_view subject = "");

// Who asks, for the audit file of the host that does the task, and the newest
// line of our own.
template <typename Task>
void FillInAsker(const AuditEntry& caller, const AuditHead& head, Task* task) {
  task->set_actor(caller.who());
  task->set_actor_certificate(caller.certificate());
  task->set_actor_peer(caller.peer());
  *task->mutable_controller_audit() = head;
}

}  // namespace clusterd

#endif  // DAEMON_CONTROLLER_HOSTS_AUDIT_CALLER_H_
