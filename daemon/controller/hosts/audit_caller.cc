#include "daemon/controller/hosts/audit_caller.h"

#include <memory>
#include <string>

#include "config/identity/certificate.h"
#include "daemon/controller/gate/identity_gate.h"
#include "grpc/grpc_security_constants.h"

namespace clusterd {

AuditEntry AuditCaller(const grpc::CallbackServerContext& context,
                       absl::string_view call, absl::string_view subject) {
  AuditEntry entry;
  entry.set_subject(std::string(subject));
  entry.set_what(std::string(call));
  entry.set_peer(context.peer());
  const std::shared_ptr<const grpc::AuthContext> shown = context.auth_context();
  for (const grpc::string_ref& uri :
       shown->FindPropertyValues(GRPC_PEER_URI_PROPERTY_NAME)) {
    // More than one are no identity, and are refused; here all are told.
    if (!entry.who().empty()) entry.mutable_who()->push_back(' ');
    entry.mutable_who()->append(uri.data(), uri.size());
  }
  entry.set_certificate(CertificateSerial(ShownCertificate(*shown)));
  return entry;
}

}  // namespace clusterd
