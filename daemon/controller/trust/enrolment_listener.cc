#include "daemon/controller/trust/enrolment_listener.h"

#include <chrono>

#include "absl/strings/str_cat.h"
#include "config/identity/grpc_status.h"
#include "config/identity/plain_messages.h"
#include "config/values/status_macros.h"
#include "daemon/audit/audit_log.h"
#include "daemon/controller/hosts/audit_caller.h"
#include "daemon/controller/hosts/pool_answer.h"
#include "grpcpp/resource_quota.h"
#include "grpcpp/server_builder.h"

namespace clusterd {
namespace {

constexpr size_t kMaxQueuedCalls = 512;
constexpr int kMaxRequestBytes = 64 << 10;
constexpr size_t kWireMemoryBytes = 64 << 20;
constexpr int kHandshakeMs = 10'000;
constexpr int kMaxIdleMs = 20'000;
constexpr int kMaxAgeGraceMs = 10'000;
constexpr int kMaxCallsPerConnection = 2;
constexpr std::chrono::milliseconds kShutdownGrace(500);

// Whoever may connect is a stranger.
void SetArguments(const EnrolmentListener::Options& options,
                  grpc::ServerBuilder* builder) {
  builder->SetMaxReceiveMessageSize(kMaxRequestBytes);
  grpc::ResourceQuota memory("enrolment");
  memory.Resize(kWireMemoryBytes);
  builder->SetResourceQuota(memory);
  builder->AddChannelArgument(GRPC_ARG_SERVER_HANDSHAKE_TIMEOUT_MS,
                              kHandshakeMs);
  builder->AddChannelArgument(GRPC_ARG_MAX_CONNECTION_IDLE_MS, kMaxIdleMs);
  builder->AddChannelArgument(
      GRPC_ARG_MAX_CONNECTION_AGE_MS,
      static_cast<int>(absl::ToInt64Milliseconds(options.longest_connection)));
  builder->AddChannelArgument(GRPC_ARG_MAX_CONNECTION_AGE_GRACE_MS,
                              kMaxAgeGraceMs);
  builder->AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS,
                              kMaxCallsPerConnection);
  builder->AddChannelArgument(GRPC_ARG_MAX_METADATA_SIZE, 4096);
}

AcceptorOptions AcceptAt(const std::string& listen) {
  AcceptorOptions accept;
  accept.listen = listen;
  accept.option = "--enrol-listen";
  accept.admission.connections = 1024;
  accept.admission.waiting = 4096;
  // Of a host that joins: two calls, one with a request.
  accept.bytes = {16.0 * kMaxRequestBytes, kMaxRequestBytes / 10.0};
  accept.calls = 2 * kMaxCallsPerConnection;
  return accept;
}

}  // namespace

grpc::ServerUnaryReactor* EnrolmentService::Roots(
    grpc::CallbackServerContext* context, const RootsRequest* /*request*/,
    RootsResponse* response) {
  auto* const reactor = context->DefaultReactor();
  response->set_cluster(desk_->cluster());
  response->set_roots_pem(desk_->authority().roots_pem());
  reactor->Finish(grpc::Status::OK);
  return reactor;
}

grpc::ServerUnaryReactor* EnrolmentService::AnswerLimited(
    grpc::CallbackServerContext* context, const char* call, Enrolled* response,
    std::function<absl::StatusOr<Enrolled>(const std::string& peer)> ask) {
  auto* const reactor = context->DefaultReactor();
  const std::string peer = context->peer();
  const absl::Status may = limits_.Take(peer, parts_.scheduler->Now());
  if (!may.ok()) {
    parts_.audit->Refuse(AuditCaller(*context, call), may);
    reactor->Finish(ToGrpcStatus(may));
    return reactor;
  }
  AnswerOnPool<Enrolled>(
      pool_, WorkerPool::Place::kInTurn, response,
      [ask = std::move(ask), peer] { return ask(peer); },
      [reactor](const absl::Status& status) {
        reactor->Finish(ToGrpcStatus(status));
      });
  return reactor;
}

grpc::ServerUnaryReactor* EnrolmentService::Join(
    grpc::CallbackServerContext* context, const JoinRequest* request,
    Enrolled* response) {
  return AnswerLimited(context, "Join", response,
                       [desk = desk_, request](const std::string& peer) {
                         return desk->Join(*request, peer);
                       });
}

grpc::ServerUnaryReactor* EnrolmentService::RenewLate(
    grpc::CallbackServerContext* context, const RenewLateRequest* request,
    Enrolled* response) {
  return AnswerLimited(context, "RenewLate", response,
                       [desk = desk_, request](const std::string& peer) {
                         return desk->RenewLate(*request, peer);
                       });
}

EnrolmentListener::EnrolmentListener(Options options, EnrolmentDesk* desk,
                                     const ControllerParts& parts)
    : options_(std::move(options)),
      desk_(desk),
      parts_(parts),
      calls_(/*threads=*/1, kMaxQueuedCalls),
      service_(desk, parts_, &calls_),
      listen_(options_.listen) {}

EnrolmentListener::~EnrolmentListener() {
  gate_.Close();
  absl::MutexLock lock(&mutex_);
  CloseLocked();
}

void EnrolmentListener::Start() { Look(); }

void EnrolmentListener::Look() {
  gate_.RunSoon(parts_.pool, parts_.scheduler, [this] {
    const absl::Status status = Update();
    absl::MutexLock lock(&mutex_);
    const std::string trouble(status.message());
    if (!trouble.empty() && trouble != told_) parts_.log->Error(trouble);
    told_ = trouble;
  });
  parts_.scheduler->RunAfter(options_.interval, gate_.Wrap([this] { Look(); }));
}

absl::Status EnrolmentListener::Update() {
  absl::MutexLock lock(&mutex_);
  // Under the lock: an older look would undo what a newer one has done.
  const bool wanted = desk_->ShouldListen();
  if (wanted && server_ == nullptr) return OpenLocked();
  if (!wanted && server_ != nullptr) {
    CloseLocked();
    parts_.log->Notice("closed to hosts that join: no token lives");
  }
  return absl::OkStatus();
}

absl::Status EnrolmentListener::OpenLocked() {
  ASSIGN_OR_RETURN(auto credentials,
                   MakeOneSidedServerCredentials(options_.tls));
  ASSIGN_OR_RETURN(std::unique_ptr<ConnectionAcceptor> acceptor,
                   ConnectionAcceptor::Listen(AcceptAt(listen_), parts_.log));
  grpc::ServerBuilder builder;
  SetArguments(options_, &builder);
  acceptor->Serve(&builder, std::move(credentials));
  builder.RegisterService(&service_);
  std::unique_ptr<grpc::Server> server = StartServer(&builder);
  if (server == nullptr) return absl::InternalError("gRPC starts no server");
  acceptor->Open();
  acceptor_ = std::move(acceptor);
  server_ = std::move(server);
  port_ = acceptor_->port();
  listen_ = absl::StrCat(listen_.substr(0, listen_.rfind(':')), ":", port_);
  parts_.log->Notice(absl::StrCat("open to hosts that join, on port ", port_));
  return absl::OkStatus();
}

void EnrolmentListener::CloseLocked() {
  if (server_ == nullptr) return;
  acceptor_->Close();
  server_->Shutdown(std::chrono::system_clock::now() + kShutdownGrace);
  server_->Wait();
  server_.reset();
  acceptor_.reset();
}

int EnrolmentListener::port() const {
  absl::MutexLock lock(&mutex_);
  return port_;
}

bool EnrolmentListener::is_open() const {
  absl::MutexLock lock(&mutex_);
  return server_ != nullptr;
}

}  // namespace clusterd
