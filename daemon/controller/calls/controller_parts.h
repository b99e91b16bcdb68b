// The parts of a controller, one of each: everything below the gRPC services
// gets this struct. Also the caller in the audit file's form, from the verified
// certificate and the connection, admitted or not.
#ifndef DAEMON_CONTROLLER_CALLS_CONTROLLER_PARTS_H_
#define DAEMON_CONTROLLER_CALLS_CONTROLLER_PARTS_H_

#include <memory>
#include <string>

#include "absl/strings/string_view.h"
#include "config/identity/certificate.h"
#include "daemon/audit/audit_log.h"
#include "daemon/process/log.h"
#include "daemon/process/scheduler.h"
#include "daemon/process/worker_pool.h"
#include "grpc/grpc_security_constants.h"
#include "grpcpp/server_context.h"
#include "proto/audit.pb.h"

namespace clusterd {

class AttachedHosts;
class AuditLog;
class FactQueue;
class HistoryStore;
class IdentityGate;
class NewestReport;
class SpecHolder;

// All must outlive every user of this struct.
struct ControllerParts {
  SpecHolder* spec = nullptr;
  HistoryStore* history = nullptr;
  Scheduler* scheduler = nullptr;
  // Owned by the server, which drains it at its end.
  WorkerPool* pool = nullptr;
  Log* log = nullptr;
  // Owned by the server.
  AttachedHosts* hosts = nullptr;
  IdentityGate* gate = nullptr;
  // Always set, since a server does not start without it.
  AuditLog* audit = nullptr;
  // Owned by the server, for code that concludes a check.
  NewestReport* newest = nullptr;
  FactQueue* queue = nullptr;
};

// Sets who, certificate, peer, what (`call`) and the subject.
inline AuditEntry AuditCaller(const grpc::CallbackServerContext& context,
                              absl::string_view call,
                              absl::string_view subject = "") {
  AuditEntry entry = MakeAuditEntry(std::string(call), std::string(subject), "",
                                    context.peer());
  const std::shared_ptr<const grpc::AuthContext> shown = context.auth_context();
  for (const grpc::string_ref& uri :
       shown->FindPropertyValues(GRPC_PEER_URI_PROPERTY_NAME)) {
    // Several names are invalid and refused; the audit file lists all.
    if (!entry.who().empty()) entry.mutable_who()->push_back(' ');
    entry.mutable_who()->append(uri.data(), uri.size());
  }
  for (const grpc::string_ref& pem :
       shown->FindPropertyValues(GRPC_X509_PEM_CERT_PROPERTY_NAME)) {
    entry.set_certificate(CertificateSerial({pem.data(), pem.size()}));
  }
  return entry;
}

// For the host's audit file: the caller, and our audit file's newest line.
template <typename Task>
void FillInAsker(const AuditEntry& caller, const AuditHead& head, Task* task) {
  task->set_actor(caller.who());
  task->set_actor_certificate(caller.certificate());
  task->set_actor_peer(caller.peer());
  *task->mutable_controller_audit() = head;
}

}  // namespace clusterd

#endif  // DAEMON_CONTROLLER_CALLS_CONTROLLER_PARTS_H_
