#include "daemon/controller/trust/trust_service.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "config/identity/grpc_status.h"
#include "config/identity/regular_file.h"
#include "config/identity/tls_credentials.h"
#include "config/values/status_macros.h"
#include "daemon/audit/audit_log.h"
#include "daemon/controller/gate/call_roles.h"
#include "daemon/controller/gate/identity_gate.h"
#include "daemon/controller/hosts/attached_hosts.h"
#include "daemon/controller/hosts/audit_caller.h"
#include "daemon/controller/hosts/spec_holder.h"
#include "daemon/controller/hosts/unary_answer.h"
#include "grpcpp/server_context.h"

namespace clusterd {
namespace {

// The one call that a controller without a CA answers.
constexpr absl::string_view kListCertificates = "ListCertificates";

absl::Status NoDesk(absl::string_view call) {
  return absl::FailedPreconditionError(absl::StrCat(
      call,
      ": this controller issues no certificates, since it was started without "
      "--ca-dir; its hosts have those of the site's own PKI or of "
      "deploy/certificates.sh"));
}

}  // namespace

TrustService::TrustService(const ControllerParts& parts, TlsFiles tls,
                           EnrolmentDesk* desk, EnrolmentListener* listener)
    : parts_(parts), tls_(std::move(tls)), desk_(desk), listener_(listener) {
  if (desk == nullptr) return;
  AdmitEndedCertificates(
      [desk](const std::string& pem) { return desk->IsKeyOnRecord(pem); });
}

TrustService::~TrustService() {
  if (desk_ != nullptr) AdmitEndedCertificates(nullptr);
}

absl::StatusOr<SpiffeId> TrustService::Admit(
    const grpc::CallbackServerContext& context, absl::string_view call,
    const google::protobuf::Message& request) const {
  absl::StatusOr<SpiffeId> user =
      parts_.gate->Admit(*context.auth_context(), IdentityKind::kUser);
  const absl::Status allowed =
      user.ok() ? CheckCallRole("Trust", call, request, *user) : user.status();
  if (allowed.ok()) return user;
  parts_.log->Warning(absl::StrCat("refused ", call, " to ", context.peer(),
                                   ": ", allowed.message()));
  parts_.audit->Refuse(AuditCaller(context, call), allowed);
  return allowed;
}

template <typename Response>
grpc::ServerUnaryReactor* TrustService::Answer(
    grpc::CallbackServerContext* context, absl::string_view call,
    const google::protobuf::Message& request, Response* response,
    std::function<absl::StatusOr<Response>(const SpiffeId& user)> read) {
  const absl::StatusOr<SpiffeId> user = Admit(*context, call, request);
  absl::Status may = user.status();
  if (may.ok() && desk_ == nullptr && call != kListCertificates) {
    may = NoDesk(call);
  }
  if (may.ok()) may = calls_.Take(user->name);
  if (!may.ok()) return FinishWith(context, may);
  auto* const reactor =
      new UnaryAnswer(context, parts_.scheduler, &calls_, user->name);
  AnswerOnPool<Response>(
      parts_.pool,
      user->role == Role::kAdmin ? WorkerPool::Place::kFirst
                                 : WorkerPool::Place::kInTurn,
      response, [read = std::move(read), user = *user] { return read(user); },
      [reactor, response](const absl::Status& status) {
        reactor->Answer(status, *response);
      });
  return reactor;
}

template <typename Response>
grpc::ServerUnaryReactor* TrustService::Change(
    grpc::CallbackServerContext* context, absl::string_view call,
    const google::protobuf::Message& request, const std::string& subject,
    Response* response,
    std::function<absl::StatusOr<Response>(const SpiffeId& user)> change) {
  return Answer<Response>(
      context, call, request, response,
      [audit = parts_.audit, entry = AuditCaller(*context, call, subject),
       change = std::move(change)](const SpiffeId& user) {
        return RunAudited(audit, entry, [&] { return change(user); });
      });
}

absl::StatusOr<CreateTokenResponse> TrustService::MakeToken(
    const CreateTokenRequest& request, const SpiffeId& creator) {
  ASSIGN_OR_RETURN(CreateTokenResponse response,
                   desk_->CreateToken(request, creator));
  const absl::Status open = listener_->Update();
  if (!open.ok()) {
    // Nobody could use it.
    desk_->RevokeToken(response.entry().id()).status().IgnoreError();
    return open;
  }
  response.set_enrol_port(static_cast<uint32_t>(listener_->port()));
  response.set_main_port(static_cast<uint32_t>(main_port_));
  return response;
}

grpc::ServerUnaryReactor* TrustService::CreateToken(
    grpc::CallbackServerContext* context, const CreateTokenRequest* request,
    CreateTokenResponse* response) {
  return Change<CreateTokenResponse>(context, "CreateToken", *request,
                                     request->hosts(), response,
                                     [this, request](const SpiffeId& user) {
                                       return MakeToken(*request, user);
                                     });
}

grpc::ServerUnaryReactor* TrustService::RevokeToken(
    grpc::CallbackServerContext* context, const RevokeTokenRequest* request,
    RevokeTokenResponse* response) {
  return Change<RevokeTokenResponse>(
      context, "RevokeToken", *request, request->id(), response,
      [this, request](const SpiffeId&) -> absl::StatusOr<RevokeTokenResponse> {
        ASSIGN_OR_RETURN(RevokeTokenResponse revoked,
                         desk_->RevokeToken(request->id()));
        RETURN_IF_ERROR(listener_->Update());
        return revoked;
      });
}

grpc::ServerUnaryReactor* TrustService::ApproveHost(
    grpc::CallbackServerContext* context, const ApproveHostRequest* request,
    ApproveHostResponse* response) {
  return Change<ApproveHostResponse>(
      context, "ApproveHost", *request,
      absl::StrCat(request->name(), " ", request->key()), response,
      [this, request](const SpiffeId&) {
        return desk_->Approve(request->name(), request->key());
      });
}

grpc::ServerUnaryReactor* TrustService::RefuseHost(
    grpc::CallbackServerContext* context, const ApproveHostRequest* request,
    ApproveHostResponse* response) {
  return Change<ApproveHostResponse>(
      context, "RefuseHost", *request,
      absl::StrCat(request->name(), " ", request->key()), response,
      [this, request](const SpiffeId&) {
        return desk_->Refuse(request->name(), request->key());
      });
}

grpc::ServerUnaryReactor* TrustService::ResetHost(
    grpc::CallbackServerContext* context, const ResetHostRequest* request,
    ResetHostResponse* response) {
  return Change<ResetHostResponse>(
      context, "ResetHost", *request, request->name(), response,
      [this, request](const SpiffeId&) {
        return desk_->Reset(request->name(), request->key());
      });
}

grpc::ServerUnaryReactor* TrustService::ListTokens(
    grpc::CallbackServerContext* context, const ListTokensRequest* request,
    ListTokensResponse* response) {
  return Answer<ListTokensResponse>(
      context, "ListTokens", *request, response,
      [this](const SpiffeId&) -> absl::StatusOr<ListTokensResponse> {
        return desk_->ListTokens();
      });
}

ListCertificatesResponse TrustService::AttachedCertificates() const {
  ListCertificatesResponse response;
  response.set_cluster(parts_.spec->cluster());
  for (const HostEntry& host : parts_.hosts->Entries(*parts_.spec->spec())) {
    CertificateEntry* const entry = response.add_certificates();
    entry->set_host(host.host());
    entry->set_ends_ms(host.certificate_ends_ms());
    entry->set_state(host.certificate_ends_ms() > 0 ? CertificateEntry::BY_HAND
                                                    : CertificateEntry::NONE);
  }
  return response;
}

void TrustService::AddOwn(ListCertificatesResponse* response) const {
  const auto add = [response](const char* what, absl::Time end) {
    OwnCertificate* const own = response->add_own();
    own->set_what(what);
    own->set_ends_ms(absl::ToUnixMillis(end));
  };
  // As it stands on disk: a new one counts within a minute.
  const auto ends =
      CertificateEnds(ReadRegularFile(tls_.certificate).value_or(""));
  add("controller", ends.empty() ? absl::UnixEpoch() : ends.front().not_after);
  if (desk_ != nullptr) add("intermediate CA", desk_->authority().not_after());
}

grpc::ServerUnaryReactor* TrustService::ListCertificates(
    grpc::CallbackServerContext* context,
    const ListCertificatesRequest* request,
    ListCertificatesResponse* response) {
  return Answer<ListCertificatesResponse>(
      context, kListCertificates, *request, response,
      [this](const SpiffeId&) -> absl::StatusOr<ListCertificatesResponse> {
        ListCertificatesResponse list = desk_ == nullptr
                                            ? AttachedCertificates()
                                            : desk_->ListCertificates();
        AddOwn(&list);
        return list;
      });
}

grpc::ServerUnaryReactor* TrustService::RenewLate(
    grpc::CallbackServerContext* context, const RenewLateRequest* request,
    Enrolled* response) {
  const auto shown = context->auth_context();
  const absl::StatusOr<SpiffeId> host =
      parts_.gate->AdmitEnded(*shown, IdentityKind::kHost);
  absl::Status may = host.status();
  if (may.ok() && desk_ == nullptr) may = NoDesk("RenewLate");
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
      parts_.pool, WorkerPool::Place::kInTurn, response,
      [desk = desk_, host = host->name, pem = ShownCertificate(*shown), request,
       peer = context->peer()] {
        return desk->RenewLate(host, pem, *request, peer);
      },
      [reactor](const absl::Status& status) {
        reactor->Finish(ToGrpcStatus(status));
      });
  return reactor;
}

}  // namespace clusterd
