// Who calls, as the audit file has it: from the verified certificate and the
// connection, whether or not the call is then admitted.
#ifndef DAEMON_CONTROLLER_HOSTS_AUDIT_CALLER_H_
#define DAEMON_CONTROLLER_HOSTS_AUDIT_CALLER_H_

#include "absl/strings/string_view.h"
#include "grpcpp/server_context.h"
#include "proto/audit.pb.h"

namespace clusterd {

// who, certificate, peer, and `call` as what.
AuditEntry AuditCaller(const grpc::CallbackServerContext& context,
                       absl::string_view call);

}  // namespace clusterd

#endif  // DAEMON_CONTROLLER_HOSTS_AUDIT_CALLER_H_
