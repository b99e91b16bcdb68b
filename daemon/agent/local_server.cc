#include "daemon/agent/local_server.h"

#include <chrono>
#include <limits>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "grpcpp/resource_quota.h"
#include "grpcpp/security/server_credentials.h"
#include "grpcpp/server_builder.h"

namespace clusterd {
namespace {

// Two for gRPC itself and six callers at once.
constexpr int kMaxThreads = 8;
constexpr int kMaxReceivedBytes = 1 << 16;
constexpr std::chrono::milliseconds kShutdownGrace(500);

}  // namespace

grpc::Status LocalService::GetStatus(grpc::ServerContext*,
                                     const GetStatusRequest*,
                                     AgentStatus* response) {
  *response = answers_.status();
  return grpc::Status::OK;
}

grpc::Status LocalService::CheckSelf(grpc::ServerContext*,
                                     const CheckSelfRequest*,
                                     CheckSelfResponse* response) {
  *response = answers_.check_self();
  return grpc::Status::OK;
}

absl::StatusOr<std::unique_ptr<LocalServer>> LocalServer::Start(
    const std::string& path, LocalService::Answers answers) {
  absl::StatusOr<std::unique_ptr<LocalSocket>> socket =
      LocalSocket::Claim(path);
  if (!socket.ok()) return socket.status();
  std::unique_ptr<LocalServer> server(
      new LocalServer(*std::move(socket), std::move(answers)));
  grpc::ServerBuilder builder;
  builder.AddListeningPort(server->socket_->address(),
                           grpc::experimental::LocalServerCredentials(UDS));
  builder.RegisterService(&server->service_);
  builder.SetMaxReceiveMessageSize(kMaxReceivedBytes);
  // One thread that sleeps until somebody calls.
  builder.SetSyncServerOption(grpc::ServerBuilder::NUM_CQS, 1);
  builder.SetSyncServerOption(grpc::ServerBuilder::MIN_POLLERS, 1);
  builder.SetSyncServerOption(grpc::ServerBuilder::MAX_POLLERS, 1);
  builder.SetSyncServerOption(grpc::ServerBuilder::CQ_TIMEOUT_MSEC,
                              std::numeric_limits<int>::max());
  builder.SetResourceQuota(
      grpc::ResourceQuota("local").SetMaxThreads(kMaxThreads));
  {
    const RestrictedUmask umask;
    server->server_ = builder.BuildAndStart();
  }
  if (server->server_ == nullptr) {
    return absl::UnavailableError(
        absl::StrCat("cannot listen on socket ", path));
  }
  const absl::Status mode = server->socket_->SetMode();
  if (!mode.ok()) return mode;
  return server;
}

LocalServer::~LocalServer() {
  if (server_ == nullptr) return;
  server_->Shutdown(std::chrono::system_clock::now() + kShutdownGrace);
  server_->Wait();
}

}  // namespace clusterd
