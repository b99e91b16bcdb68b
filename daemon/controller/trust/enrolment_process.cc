#include "daemon/controller/trust/enrolment_process.h"

#include <pthread.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <map>
#include <memory>
#include <utility>

#include "absl/synchronization/mutex.h"
#include "config/identity/plain_messages.h"
#include "config/identity/tls_credentials.h"
#include "config/values/status_macros.h"
#include "daemon/controller/calls/user_calls.h"
#include "grpcpp/resource_quota.h"
#include "grpcpp/server.h"
#include "grpcpp/server_builder.h"
#include "proto/trust.grpc.pb.h"

namespace clusterd {
namespace {

constexpr int kMaxRequestBytes = 64 << 10;
constexpr size_t kWireMemoryBytes = 64 << 20;
constexpr int kHandshakeMs = 10'000;
constexpr int kMaxAgeGraceMs = 10'000;
// A connection's calls at once, and in its life. A joining host makes two.
constexpr int kMaxCallsAtOnce = 2;
constexpr int kMaxCalls = 8;
// More than the connections that may be open, waiting or silent.
constexpr rlim_t kMaxFiles = 2048;
// gRPC has some threads for each core, whose stacks count as memory.
constexpr size_t kStackBytes = 512 << 10;
constexpr int kNice = 10;

absl::Status System(const char* what) {
  return Unavailable(what, ": ", strerror(errno));
}

absl::Status Bound(decltype(RLIMIT_DATA) resource, rlim_t most) {
  rlimit limit = {};
  getrlimit(resource, &limit);
  limit.rlim_cur = limit.rlim_max = std::min(limit.rlim_max, most);
  return setrlimit(resource, &limit) == 0 ? absl::OkStatus()
                                          : System("setrlimit");
}

// Call it before any second thread exists.
absl::Status BoundThisProcess(Log* log) {
  // It ignores the controller's signals and ends when the controller does.
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  RETURN_IF_ERROR(Bound(RLIMIT_CORE, 0));
  RETURN_IF_ERROR(Bound(RLIMIT_NOFILE, kMaxFiles));
  errno = 0;
  if (nice(kNice) == -1 && errno != 0) {
    log->Warning(
        "the process of the enrolment port has the "
        "controller's priority: ",
        strerror(errno));
  }
  if (!kBoundsMemory) return absl::OkStatus();
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, kStackBytes);
  pthread_setattr_default_np(&attributes);
  pthread_attr_destroy(&attributes);
  return Bound(RLIMIT_DATA, kEnrolmentMemoryBytes);
}

// Strict, since every peer may be a stranger.
void SetArguments(const EnrolmentStart& start, grpc::ServerBuilder* builder) {
  builder->SetMaxReceiveMessageSize(kMaxRequestBytes);
  grpc::ResourceQuota memory("enrolment");
  memory.Resize(kWireMemoryBytes);
  builder->SetResourceQuota(memory);
  builder->AddChannelArgument(GRPC_ARG_SERVER_HANDSHAKE_TIMEOUT_MS,
                              kHandshakeMs);
  builder->AddChannelArgument(GRPC_ARG_MAX_CONNECTION_IDLE_MS,
                              static_cast<int>(start.longest_idle_ms()));
  builder->AddChannelArgument(GRPC_ARG_MAX_CONNECTION_AGE_MS,
                              static_cast<int>(start.longest_connection_ms()));
  builder->AddChannelArgument(GRPC_ARG_MAX_CONNECTION_AGE_GRACE_MS,
                              kMaxAgeGraceMs);
  builder->AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, kMaxCallsAtOnce);
  builder->AddChannelArgument(GRPC_ARG_MAX_METADATA_SIZE, 4096);
}

class HandedOnEnrolment final : public Enrolment::CallbackService {
 public:
  explicit HandedOnEnrolment(const RootsResponse& roots) : roots_(roots) {}

  UnaryCall* Roots(CallContext* context, const RootsRequest* /*request*/,
                   RootsResponse* response) override {
    *response = roots_;
    return FinishWith(context, absl::OkStatus());
  }

  UnaryCall* Join(CallContext* context, const JoinRequest* request,
                  Enrolled* response) override {
    EnrolmentQuestion question;
    question.set_peer(context->peer());
    *question.mutable_join() = *request;
    absl::MutexLock lock(&mutex_);
    question.set_id(++last_id_);
    const bool is_sent =
        waiting_.size() < kMaxJoinsUnderWay &&
        SendPacket(kEnrolmentSocket, question, MSG_DONTWAIT).ok();
    if (!is_sent) return FinishWith(context, TooMuchToDo());
    auto* const reactor = context->DefaultReactor();
    waiting_[last_id_] = {reactor, response};
    return reactor;
  }

  void OnAnswer(EnrolmentAnswer answer) ABSL_LOCKS_EXCLUDED(mutex_) {
    Waiting asked;
    {
      absl::MutexLock lock(&mutex_);
      const auto found = waiting_.find(answer.id());
      if (found == waiting_.end()) return;
      asked = found->second;
      waiting_.erase(found);
    }
    *asked.response = std::move(*answer.mutable_enrolled());
    asked.reactor->Finish(
        grpc::Status(static_cast<grpc::StatusCode>(answer.code()),
                     answer.message(), answer.words()));
  }

 private:
  struct Waiting {
    UnaryCall* reactor = nullptr;
    Enrolled* response = nullptr;
  };

  const RootsResponse roots_;
  absl::Mutex mutex_;
  uint64_t last_id_ ABSL_GUARDED_BY(mutex_) = 0;
  std::map<uint64_t, Waiting> waiting_ ABSL_GUARDED_BY(mutex_);
};

// The sockets that the controller has bound.
std::vector<int> Listeners() {
  std::vector<int> listeners;
  int listens = 0;
  socklen_t size = sizeof(listens);
  for (int fd = kEnrolmentSocket + 1;
       getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) == 0; ++fd) {
    listeners.push_back(fd);
  }
  return listeners;
}

absl::Status ServeStrangers(Log* log) {
  AcceptorOptions accept = EnrolmentAcceptor();
  accept.listeners = Listeners();
  RETURN_IF_ERROR(BoundThisProcess(log));
  EnrolmentStart start;
  if (!ReceivePacket(kEnrolmentSocket, kMaxAnswerBytes, &start)) {
    return absl::InvalidArgumentError(
        "no packet of a controller: it alone starts the enrolment port");
  }
  ASSIGN_OR_RETURN(auto credentials,
                   MakeOneSidedServerCredentials(
                       {start.ca(), start.certificate(), start.key()}));
  ASSIGN_OR_RETURN(std::unique_ptr<ConnectionAcceptor> acceptor,
                   ConnectionAcceptor::Listen(accept, log));
  HandedOnEnrolment service(start.roots());
  grpc::ServerBuilder builder;
  SetArguments(start, &builder);
  acceptor->Serve(&builder, std::move(credentials));
  builder.RegisterService(&service);
  const std::unique_ptr<grpc::Server> server = StartServer(&builder);
  if (server == nullptr)
    return absl::InternalError("gRPC could not start the server");
  acceptor->Open();
  EnrolmentAnswer answer;
  while (ReceivePacket(kEnrolmentSocket, kMaxAnswerBytes, &answer)) {
    service.OnAnswer(std::move(answer));
    answer.Clear();
  }
  // There is no state to save, and strangers must not delay the end.
  _exit(0);
}

}  // namespace

AcceptorOptions EnrolmentAcceptor() {
  AcceptorOptions accept;
  accept.option = "--enrol-listen";
  accept.admission.handshakes = 64;
  accept.admission.handshakes_of_address = 16;
  accept.admission.connections = 256;
  accept.admission.waiting = 512;
  accept.bytes = {2.0 * kMaxRequestBytes, 0};
  accept.calls = 2 * kMaxCallsAtOnce;
  accept.begun = {kMaxCalls, 0};
  accept.count_every_bytes = 1 << 10;
  accept.receive_buffer_bytes = 16 << 10;
  return accept;
}

absl::Status SendPacket(int socket, const google::protobuf::MessageLite& packet,
                        int flags) {
  const std::string bytes = packet.SerializeAsString();
  while (send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL | flags) < 0) {
    if (errno != EINTR) return System("a packet of the enrolment port");
  }
  return absl::OkStatus();
}

bool ReceivePacket(int socket, size_t most,
                   google::protobuf::MessageLite* packet) {
  std::string bytes(most, '\0');
  ssize_t got;
  do {
    got = recv(socket, bytes.data(), bytes.size(), MSG_TRUNC);
  } while (got < 0 && errno == EINTR);
  return got > 0 && static_cast<size_t>(got) <= most &&
         packet->ParseFromArray(bytes.data(), static_cast<int>(got));
}

int RunEnrolmentProcess(Log* log) {
  const absl::Status status = ServeStrangers(log);
  log->Error("enrolment port: ", status.message());
  return 1;
}

}  // namespace clusterd
