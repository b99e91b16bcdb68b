// The gRPC service by which admins say who may join, anybody of the cluster
// reads whose certificate ends when, and a host whose own has ended comes by a
// new one.
#ifndef DAEMON_CONTROLLER_TRUST_TRUST_SERVICE_H_
#define DAEMON_CONTROLLER_TRUST_TRUST_SERVICE_H_

#include <atomic>

#include "absl/status/statusor.h"
#include "config/identity/certificate.h"
#include "config/identity/tls_credentials.h"
#include "daemon/controller/hosts/controller_parts.h"
#include "daemon/controller/hosts/user_calls.h"
#include "daemon/controller/trust/enrolment_desk.h"
#include "daemon/controller/trust/enrolment_listener.h"
#include "daemon/controller/trust/join_token.h"
#include "grpcpp/support/server_callback.h"
#include "proto/trust.grpc.pb.h"

namespace clusterd {

// Every call but RenewLate: errors as IdentityGate::Admit and CheckCallRole
// unless the peer is a user of this cluster in the role that the call needs
// (call_roles.h). Without a desk, of a controller that has no CA, all but
// ListCertificates are FailedPrecondition. ResourceExhausted when as many calls
// are under way, or have answers that are not read, as may.
class TrustService final : public Trust::CallbackService {
 public:
  using Context = grpc::CallbackServerContext;
  using Unary = grpc::ServerUnaryReactor;

  // All must outlive it and its server. `tls`: the controller's. Desk and
  // listener: both or none. While one with a desk lives, and there may be one
  // in a process, TLS lets through what has ended and is on record there.
  TrustService(const ControllerParts& parts, TlsFiles tls, EnrolmentDesk* desk,
               EnrolmentListener* listener);
  ~TrustService() override;
  // Told to who makes a token, once it is known.
  void set_main_port(int port) { main_port_ = port; }

  // Admins. Errors are those of EnrolmentDesk and EnrolmentListener; without
  // the port no token is left.
  Unary* CreateToken(Context* context, const CreateTokenRequest* request,
                     CreateTokenResponse* response) override;
  Unary* RevokeToken(Context* context, const RevokeTokenRequest* request,
                     RevokeTokenResponse* response) override;
  Unary* ApproveHost(Context* context, const ApproveHostRequest* request,
                     ApproveHostResponse* response) override;
  Unary* RefuseHost(Context* context, const ApproveHostRequest* request,
                    ApproveHostResponse* response) override;
  Unary* ResetHost(Context* context, const ResetHostRequest* request,
                   ResetHostResponse* response) override;
  Unary* ListTokens(Context* context, const ListTokensRequest* request,
                    ListTokensResponse* response) override;
  Unary* ListCertificates(Context* context,
                          const ListCertificatesRequest* request,
                          ListCertificatesResponse* response) override;
  // Hosts, also by a certificate that has ended. Errors as
  // IdentityGate::AdmitEnded and EnrolmentDesk::RenewLate; ResourceExhausted
  // for a host that asks more often than JoinLimits.
  Unary* RenewLate(Context* context, const RenewLateRequest* request,
                   Enrolled* response) override;

 private:
  absl::StatusOr<CreateTokenResponse> MakeToken(
      const CreateTokenRequest& request, const SpiffeId& creator);
  ListCertificatesResponse AttachedCertificates() const;
  // The controller's certificate and its CA's.
  void AddOwn(ListCertificatesResponse* response) const;
  const ControllerParts parts_;
  const TlsFiles tls_;
  EnrolmentDesk* const desk_;
  EnrolmentListener* const listener_;
  const UserCalls calls_;
  std::atomic<int> main_port_{0};
  JoinLimits late_renewals_;  // By host.
  Slots slots_{"calls about certificates are under way", 32, 4};
};

}  // namespace clusterd

#endif  // DAEMON_CONTROLLER_TRUST_TRUST_SERVICE_H_
