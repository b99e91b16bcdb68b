#include "daemon/controller/trust/trust_service.h"

#include <utility>

#include "config/identity/certificate.h"
#include "config/identity/grpc_status.h"
#include "config/identity/regular_file.h"
#include "config/values/status_macros.h"
#include "daemon/audit/audit_log.h"
#include "daemon/controller/calls/user_calls.h"
#include "daemon/controller/gate/identity_gate.h"
#include "daemon/controller/hosts/attached_hosts.h"
#include "daemon/controller/hosts/spec_holder.h"
#include "daemon/controller/trust/join_token.h"

namespace clusterd {
namespace {

// The only call that a controller without a CA answers.
constexpr char kListCertificates[] = "ListCertificates";

absl::Status NoAuthority(absl::string_view call) {
  return PreconditionWords("msg-trust-no-ca", call);
}

class TrustCalls final : public TrustService {
 public:
  TrustCalls(const ControllerParts& parts, TlsFiles tls,
             EnrolmentService* service, EnrolmentListener* listener)
      : parts_(parts),
        tls_(std::move(tls)),
        service_(service),
        listener_(listener),
        calls_("Trust", parts_, [this](absl::string_view call) {
          return service_ != nullptr || call == kListCertificates
                     ? absl::OkStatus()
                     : NoAuthority(call);
        }) {
    if (service == nullptr) return;
    AdmitEndedCertificates(
        [service](const auto& pem) { return service->IsKeyOnRecord(pem); });
  }
  ~TrustCalls() override {
    if (service_ != nullptr) AdmitEndedCertificates(nullptr);
  }

 private:
  absl::StatusOr<CreateTokenResponse> MakeToken(
      const CreateTokenRequest& request, const SpiffeId& creator) {
    ASSIGN_OR_RETURN(CreateTokenResponse response,
                     service_->CreateToken(request, creator));
    const absl::Status open = listener_->Update();
    if (!open.ok()) {
      // Without the port, a token is useless.
      service_->RevokeToken(response.entry().id()).status().IgnoreError();
      return open;
    }
    response.set_enrol_port(static_cast<uint32_t>(listener_->port()));
    response.set_main_port(static_cast<uint32_t>(main_port_));
    return response;
  }

  UnaryCall* CreateToken(CallContext* context,
                         const CreateTokenRequest* request,
                         CreateTokenResponse* response) override {
    return calls_.AnswerAudited(
        {context, "CreateToken", *request, CallClass::kCertificates},
        request->hosts(), response, [this, request](const SpiffeId& user) {
          return MakeToken(*request, user);
        });
  }

  UnaryCall* RevokeToken(CallContext* context,
                         const RevokeTokenRequest* request,
                         RevokeTokenResponse* response) override {
    return calls_.AnswerAudited(
        {context, "RevokeToken", *request, CallClass::kCertificates},
        request->id(), response,
        [this,
         request](const SpiffeId&) -> absl::StatusOr<RevokeTokenResponse> {
          ASSIGN_OR_RETURN(RevokeTokenResponse revoked,
                           service_->RevokeToken(request->id()));
          RETURN_IF_ERROR(listener_->Update());
          return revoked;
        });
  }

  UnaryCall* Decide(CallContext* context, const ApproveHostRequest* request,
                    ApproveHostResponse* response, bool approves) {
    return calls_.AnswerAudited(
        {context, approves ? "ApproveHost" : "RefuseHost", *request,
         CallClass::kCertificates},
        absl::StrCat(request->name(), " ", request->key()), response,
        [this, request, approves](const SpiffeId&) {
          return service_->Decide(request->name(), request->key(), approves);
        });
  }

  UnaryCall* ApproveHost(CallContext* context,
                         const ApproveHostRequest* request,
                         ApproveHostResponse* response) override {
    return Decide(context, request, response, /*approves=*/true);
  }

  UnaryCall* RefuseHost(CallContext* context, const ApproveHostRequest* request,
                        ApproveHostResponse* response) override {
    return Decide(context, request, response, /*approves=*/false);
  }

  UnaryCall* ResetHost(CallContext* context, const ResetHostRequest* request,
                       ResetHostResponse* response) override {
    return calls_.AnswerAudited(
        {context, "ResetHost", *request, CallClass::kCertificates},
        request->name(), response, [this, request](const SpiffeId&) {
          return service_->Reset(request->name(), request->key());
        });
  }

  UnaryCall* ListTokens(CallContext* context, const ListTokensRequest* request,
                        ListTokensResponse* response) override {
    return calls_.Answer(
        {context, "ListTokens", *request, CallClass::kCertificates}, response,
        [this](const SpiffeId&) { return service_->ListTokens(); });
  }

  ListCertificatesResponse AttachedCertificates() const {
    ListCertificatesResponse response;
    response.set_cluster(parts_.spec->cluster());
    for (const HostEntry& host : parts_.hosts->Entries(*parts_.spec->spec())) {
      CertificateEntry* const entry = response.add_certificates();
      entry->set_host(host.host());
      entry->set_ends_ms(host.certificate_ends_ms());
      entry->set_state(host.certificate_ends_ms() > 0
                           ? CertificateEntry::BY_HAND
                           : CertificateEntry::NONE);
    }
    return response;
  }

  // The controller's certificate and its CA's.
  void AddOwn(ListCertificatesResponse* response) const {
    const auto add = [response](const char* what, absl::Time end) {
      OwnCertificate* const own = response->add_own();
      own->set_what(what);
      own->set_ends_ms(absl::ToUnixMillis(end));
    };
    // Read from disk, since a new one takes effect within a minute.
    const auto ends =
        CertificateEnds(ReadRegularFile(tls_.certificate).value_or(""));
    add("controller",
        ends.empty() ? absl::UnixEpoch() : ends.front().not_after);
    if (service_ != nullptr)
      add("intermediate CA", service_->authority().not_after());
  }

  UnaryCall* ListCertificates(CallContext* context,
                              const ListCertificatesRequest* request,
                              ListCertificatesResponse* response) override {
    return calls_.Answer(
        {context, kListCertificates, *request, CallClass::kCertificates},
        response, [this](const SpiffeId&) {
          auto list = service_ == nullptr ? AttachedCertificates()
                                          : service_->ListCertificates();
          AddOwn(&list);
          return list;
        });
  }

  UnaryCall* RenewLate(CallContext* context, const RenewLateRequest* request,
                       Enrolled* response) override {
    const auto shown = context->auth_context();
    const absl::StatusOr<SpiffeId> host =
        parts_.gate->AdmitEnded(*shown, IdentityKind::kHost);
    absl::Status may = host.status();
    if (may.ok() && service_ == nullptr) may = NoAuthority("RenewLate");
    if (may.ok()) {
      may = late_renewals_.Take(absl::StrCat(host->name, ":"),
                                parts_.scheduler->Now());
    }
    if (!may.ok()) {
      parts_.audit->Refuse(AuditCaller(*context, "RenewLate"), may);
      return FinishWith(context, may);
    }
    auto* const reactor = context->DefaultReactor();
    AnswerOnPool<Enrolled>(
        parts_.pool, WorkerPool::Place::kInTurn,
        [service = service_, host = host->name, pem = ShownCertificate(*shown),
         request, peer = context->peer()] {
          return service->RenewLate(host, pem, *request, peer);
        },
        [reactor, response](absl::StatusOr<Enrolled> answer) {
          const absl::Status status = answer.status();
          if (status.ok()) *response = *std::move(answer);
          reactor->Finish(ToGrpcStatus(status));
        });
    return reactor;
  }

  const ControllerParts parts_;
  const TlsFiles tls_;
  EnrolmentService* const service_;
  EnrolmentListener* const listener_;
  const UserCalls calls_;
  JoinLimits late_renewals_;  // By host.
};

}  // namespace

std::unique_ptr<TrustService> TrustService::Make(const ControllerParts& parts,
                                                 TlsFiles tls,
                                                 EnrolmentService* service,
                                                 EnrolmentListener* listener) {
  return std::make_unique<TrustCalls>(parts, std::move(tls), service, listener);
}

}  // namespace clusterd
