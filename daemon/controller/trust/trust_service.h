// The gRPC service with which admins admit hosts, users read when certificates
// end, and a host renews an ended certificate.
#ifndef DAEMON_CONTROLLER_TRUST_TRUST_SERVICE_H_
#define DAEMON_CONTROLLER_TRUST_TRUST_SERVICE_H_

#include <atomic>
#include <memory>

#include "config/identity/tls_credentials.h"
#include "daemon/controller/calls/controller_parts.h"
#include "daemon/controller/trust/enrolment_listener.h"
#include "daemon/controller/trust/enrolment_service.h"
#include "proto/trust.grpc.pb.h"

namespace clusterd {

// Every call but RenewLate: errors as IdentityGate::Admit and CheckCallRole
// unless the peer is a user of this cluster in the needed role (call_roles.h),
// and those of EnrolmentService and EnrolmentListener; if the port fails, no
// token is left. Without a CA, all but ListCertificates are FailedPrecondition.
// ResourceExhausted when too many calls are under way, or have unread answers.
// RenewLate is for hosts, also with an ended certificate: errors as
// IdentityGate::AdmitEnded and EnrolmentService::RenewLate; ResourceExhausted
// for a host that asks more often than JoinLimits.
class TrustService : public Trust::CallbackService {
 public:
  // All must outlive it and its server. `tls`: the controller's. Service and
  // listener: both or none. While one with a service lives, at most one in a
  // process, TLS admits ended certificates that are on record there.
  static std::unique_ptr<TrustService> Make(const ControllerParts& parts,
                                            TlsFiles tls,
                                            EnrolmentService* service,
                                            EnrolmentListener* listener);
  // The port that the creator of a token is given, once it is known.
  void set_main_port(int port) { main_port_ = port; }

 protected:
  std::atomic<int> main_port_{0};
};

}  // namespace clusterd

#endif  // DAEMON_CONTROLLER_TRUST_TRUST_SERVICE_H_
