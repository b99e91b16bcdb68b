#include "daemon/controller/controller_server.h"

#include <netdb.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "config/identity/signature.h"
#include "config/values/status_macros.h"
#include "daemon/controller/hosts/fact_limits.h"
#include "daemon/controller/hosts/spec_holder.h"
#include "grpcpp/resource_quota.h"
#include "grpcpp/server_builder.h"

namespace clusterd {
namespace {

constexpr absl::Duration kHandshakeTimeout = absl::Seconds(30);
constexpr absl::Duration kMaxIdle = absl::Minutes(5);
// Messages are a few kilobytes; saves 8 MB with 1,152 hosts over the usual
// 16384.
constexpr int kTlsFrameBytes = 4096;
// A host has one call, a client few.
constexpr int kMaxCallsPerConnection = 16;
constexpr std::chrono::milliseconds kShutdownGrace(500);

int Milliseconds(absl::Duration duration) {
  return static_cast<int>(absl::ToInt64Milliseconds(duration));
}

void SetArguments(const ControllerServerOptions& options,
                  grpc::ServerBuilder* builder) {
  builder->SetMaxReceiveMessageSize(kMaxMessageBytes);
  builder->SetMaxSendMessageSize(-1);  // A report is as long as the cluster.
  // Where it is reached, gRPC closes new connections, then idle ones, and ends
  // calls last. Without, whoever has a certificate could have all memory; or
  // all descriptors, after which gRPC 1.51 never accepts a connection again.
  grpc::ResourceQuota memory("wire");
  memory.Resize(options.wire_memory_bytes);
  builder->SetResourceQuota(memory);
  builder->AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS,
                              Milliseconds(options.keepalive_time));
  builder->AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS,
                              Milliseconds(options.keepalive_timeout));
  builder->AddChannelArgument(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
  builder->AddChannelArgument(
      GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS,
      Milliseconds(options.min_ping_interval));
  builder->AddChannelArgument(GRPC_ARG_SERVER_HANDSHAKE_TIMEOUT_MS,
                              Milliseconds(kHandshakeTimeout));
  builder->AddChannelArgument(GRPC_ARG_MAX_CONNECTION_IDLE_MS,
                              Milliseconds(kMaxIdle));
  builder->AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS,
                              kMaxCallsPerConnection);
  // Every connection keeps buffers for one frame of TLS.
  builder->AddChannelArgument(GRPC_ARG_TSI_MAX_FRAME_SIZE, kTlsFrameBytes);
  // Otherwise a second controller would share the port and steal hosts.
  builder->AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
}

// Why nobody can listen there, which gRPC 1.51 does not tell: the system's own
// answer to another try; empty if that went well.
std::string ListenTrouble(const std::string& listen) {
  const size_t colon = listen.rfind(':');
  if (colon == std::string::npos) return "it has no port";
  const std::string host(absl::StripPrefix(
      absl::StripSuffix(absl::string_view(listen).substr(0, colon), "]"), "["));
  addrinfo hints = {};
  hints.ai_flags = AI_PASSIVE;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int unknown = getaddrinfo(host.empty() ? nullptr : host.c_str(),
                                  listen.c_str() + colon + 1, &hints, &found);
  if (unknown != 0) return gai_strerror(unknown);
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> first(found,
                                                             &freeaddrinfo);
  const int fd = socket(first->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const int on = 1;
  setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  const bool free = bind(fd, first->ai_addr, first->ai_addrlen) == 0;
  const int error = errno;
  close(fd);
  if (free) return "";
  if (error != EADDRINUSE) return std::strerror(error);
  return absl::StrCat(
      "another program listens there already; `ss -ltnp "
      "'sport = :",
      listen.substr(colon + 1), "'` names it");
}

absl::StatusOr<SignedVerdict> Sign(const JobVerdict& verdict,
                                   const TlsFiles& tls) {
  SignedVerdict signed_one;
  signed_one.set_verdict(verdict.SerializeAsString());
  ASSIGN_OR_RETURN(const TlsPem pem, ReadTlsFiles(tls));
  ASSIGN_OR_RETURN(*signed_one.mutable_signature(),
                   SignText(pem.key, signed_one.verdict()));
  signed_one.set_certificate(pem.certificate);
  return signed_one;
}

}  // namespace

ControllerServer::ControllerServer(const ControllerServerOptions& options,
                                   const ControllerParts& parts)
    // No host attaches before all members are there.
    : hosts_(parts.scheduler, parts.log, {},
             {/*drift=*/[this](const std::string& host,
                               const DriftReport& report) {
                enforcer_.OnDrift(host, report);
              },
              /*past_applies=*/
              [this](const std::string& host, const PastApplies& past) {
                changes_.OnPastApplies(host, past);
              }}),
      parts_{parts.spec, parts.history, parts.scheduler,
             parts.pool, parts.log,     &hosts_},
      changes_(parts_),
      enforcer_(EnforcerParts()),
      jobs_(parts_, &running_,
            [tls = options.tls](const JobVerdict& verdict) {
              return Sign(verdict, tls);
            }),
      brake_(parts_, options.drain),
      hub_(parts_, Questions()),
      controller_(parts_, &changes_, &running_, &jobs_) {}

HostQuestions ControllerServer::Questions() {
  return {[this](const std::string& host, JobQuestion question,
                 std::function<void(JobAnswer)> reply) {
            jobs_.AskAs(host, std::move(question), std::move(reply));
          },
          [this](const std::string& host, const DrainQuestion& question) {
            return brake_.Ask(host, question);
          }};
}

DriftEnforcer::Parts ControllerServer::EnforcerParts() {
  return {[this] { return parts_.spec->spec(); },
          [this](const HostTask& observation, AttachedHosts::Done done) {
            hosts_.Observe(observation, std::move(done));
          },
          [this](std::shared_ptr<const ClusterPlan> plan,
                 DriftEnforcer::OnApplied done) {
            ChangeRequest request;
            request.plan = std::move(plan);
            request.actor = kControllerActor;
            request.from = "enforce of the spec";
            request.enforced = true;
            ApplyWatcher watcher;
            watcher.on_end = std::move(done);
            return changes_.Start(request, std::move(watcher)).status();
          },
          parts_.scheduler,
          parts_.pool,
          parts_.log};
}

absl::StatusOr<std::unique_ptr<ControllerServer>> ControllerServer::Start(
    const ControllerServerOptions& options,
    std::shared_ptr<grpc::ServerCredentials> credentials,
    const ControllerParts& parts) {
  std::unique_ptr<ControllerServer> server(
      new ControllerServer(options, parts));
  server->changes_.Recover();
  grpc::ServerBuilder builder;
  SetArguments(options, &builder);
  builder.AddListeningPort(options.listen, std::move(credentials),
                           &server->port_);
  builder.RegisterService(&server->hub_);
  builder.RegisterService(&server->controller_);
  server->server_ = builder.BuildAndStart();
  if (server->server_ == nullptr || server->port_ == 0) {
    const std::string trouble = ListenTrouble(options.listen);
    return absl::UnavailableError(absl::StrCat(
        "cannot listen on \"", options.listen, "\": ", trouble,
        trouble.empty() ? "" : ", ",
        "expected a free ADDRESS:PORT of this machine (--listen)"));
  }
  return server;
}

ControllerServer::~ControllerServer() {
  enforcer_.Stop();
  changes_.Stop();
  jobs_.Stop();
  if (server_ == nullptr) return;
  hosts_.CloseAll(absl::UnavailableError("the controller is stopping"));
  server_->Shutdown(std::chrono::system_clock::now() + kShutdownGrace);
  server_->Wait();
  // What calls have left there uses our members.
  parts_.pool->Drain();
}

absl::Status WritePortFile(const std::string& path, int port) {
  const std::string beside = absl::StrCat(path, ".new");
  std::ofstream file(beside, std::ios::trunc);
  file << port << '\n';
  file.close();
  if (!file || std::rename(beside.c_str(), path.c_str()) != 0) {
    const int error = errno;
    std::remove(beside.c_str());
    return absl::PermissionDeniedError(
        absl::StrCat(path, ": ", std::strerror(error)));
  }
  return absl::OkStatus();
}

}  // namespace clusterd
