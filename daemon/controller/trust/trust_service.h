// The gRPC service by which admins say who may join, anybody of the cluster
// reads whose certificate ends when, and a host whose own has ended comes by a
// new one.
#ifndef DAEMON_CONTROLLER_TRUST_TRUST_SERVICE_H_
#define DAEMON_CONTROLLER_TRUST_TRUST_SERVICE_H_

#include <atomic>
#include <memory>

#include "config/identity/tls_credentials.h"
#include "daemon/controller/hosts/controller_parts.h"
#include "daemon/controller/trust/enrolment_listener.h"
#include "daemon/controller/trust/enrolment_service.h"
#include "proto/trust.grpc.pb.h"

namespace clusterd {

// Every call but RenewLate: errors as IdentityGate::Admit and CheckCallRole
// unless the peer is a user of this cluster in the role that the call needs
// (call_roles.h), and those of EnrolmentService and EnrolmentListener; without
// the port no token is left. Without a desk, of a controller that has no CA,
// all but ListCertificates are FailedPrecondition. ResourceExhausted when as
// many calls are under way, or have answers that are not read, as may.
// RenewLate is for hosts, also by a certificate that has ended: errors as
// IdentityGate::AdmitEnded and EnrolmentService::RenewLate; ResourceExhausted
// for a host that asks more often than JoinLimits.
class TrustService : public Trust::CallbackService {
 public:
  // All must outlive it and its server. `tls`: the controller's. Desk and
  // listener: both or none. While one with a desk lives, and there may be one
  // in a process, TLS lets through what has ended and is on record there.
  static std::unique_ptr<TrustService> Make(const ControllerParts& parts,
                                            TlsFiles tls,
                                            EnrolmentService* desk,
                                            EnrolmentListener* listener);
  // Told to who makes a token, once it is known.
  void set_main_port(int port) { main_port_ = port; }

 protected:
  std::atomic<int> main_port_{0};
};

}  // namespace clusterd

#endif  // DAEMON_CONTROLLER_TRUST_TRUST_SERVICE_H_
