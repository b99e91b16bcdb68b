#include "daemon/agent/local/local_server.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <limits>

#include "absl/strings/numbers.h"
#include "absl/strings/strip.h"
#include "config/identity/grpc_status.h"
#include "config/identity/plain_messages.h"
#include "config/identity/regular_file.h"
#include "config/values/status_macros.h"
#include "daemon/host/command/program_path.h"
#include "grpcpp/resource_quota.h"
#include "grpcpp/server_builder.h"
#include "grpcpp/server_posix.h"

namespace clusterd {
namespace {

constexpr int kWaitingConnections = 512;
// The wait when the process is out of descriptors: ending calls free some.
constexpr int kOutOfDescriptorsMs = 100;

bool Bind(int fd, const std::string& path) {
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof(address.sun_path) - 1);
  // Protects the socket until its mode is set.
  const mode_t before = umask(0117);
  const int bound =
      bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address));
  umask(before);
  // Does not follow a link that has replaced the socket.
  return bound == 0 &&
         fchmodat(AT_FDCWD, path.c_str(), 0660, AT_SYMLINK_NOFOLLOW) == 0;
}

// Two threads are gRPC's own; the others wait for callers, each until the end
// of its call. A host with 192 cores starts that many jobs of an array, and
// people call too. Further callers get RESOURCE_EXHAUSTED.
constexpr int kMaxThreads = 2 + 254;
// Enough for a job of 1,152 servers with its rank table.
constexpr int kMaxReceivedBytes = 4 << 20;
constexpr std::chrono::milliseconds kShutdownGrace(500);

absl::Status CheckPath(const std::string& path) {
  // gRPC reads "%" in an address as the start of an escape.
  if (path.empty() || path[0] != '/' || path.back() == '/' ||
      path.find('%') != std::string::npos ||
      path.size() >= sizeof(sockaddr_un::sun_path)) {
    return InvalidWords("msg-hook-socket-path", path,
                        sizeof(sockaddr_un::sun_path));
  }
  return absl::OkStatus();
}

// REQUIRES: the lock is held, so no running daemon uses the socket.
absl::Status RemoveStale(const std::string& path) {
  struct stat info = {};
  if (lstat(path.c_str(), &info) != 0) {
    return errno == ENOENT ? absl::OkStatus() : FileStatus(path, errno);
  }
  if (!S_ISSOCK(info.st_mode)) {
    return PreconditionWords("msg-hook-not-a-socket", path);
  }
  return unlink(path.c_str()) == 0 ? absl::OkStatus() : FileStatus(path, errno);
}

}  // namespace

absl::StatusOr<std::unique_ptr<LocalListener>> LocalListener::Listen(
    const std::string& path) {
  OwnedFd listening(
      socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  OwnedFd stop(eventfd(0, EFD_CLOEXEC));
  if (listening.get() < 0 || stop.get() < 0 || !Bind(listening.get(), path) ||
      listen(listening.get(), kWaitingConnections) != 0) {
    return UnavailableWords("msg-hook-socket-listen", path,
                            std::strerror(errno));
  }
  return std::unique_ptr<LocalListener>(
      new LocalListener(std::move(listening), std::move(stop)));
}

void LocalListener::Stop() {
  eventfd_write(stop_.get(), 1);
  if (thread_.joinable()) thread_.join();
}

void LocalListener::Start(std::function<void(int connection)> take) {
  thread_ = std::thread([this, take = std::move(take)] {
    while (true) {
      pollfd ready[] = {{listening_.get(), POLLIN, 0},
                        {stop_.get(), POLLIN, 0}};
      if (poll(ready, 2, -1) < 0) continue;
      if (ready[1].revents != 0) return;
      Accept(take);
    }
  });
}

void LocalListener::Accept(const std::function<void(int connection)>& take) {
  const int fd =
      accept4(listening_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
  if (fd < 0) {
    pollfd stop = {stop_.get(), POLLIN, 0};
    if (errno == EMFILE || errno == ENFILE) poll(&stop, 1, kOutOfDescriptorsMs);
    return;
  }
  ucred caller = {};
  socklen_t size = sizeof(caller);
  if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &caller, &size) != 0) {
    close(fd);
    return;
  }
  {
    absl::MutexLock lock(&mutex_);
    callers_[fd] = caller;
  }
  take(fd);
}

std::string LocalListener::Who(absl::string_view peer) const {
  int fd = -1;
  if (!absl::ConsumePrefix(&peer, "fd:") || !absl::SimpleAtoi(peer, &fd)) {
    return "unknown";
  }
  absl::MutexLock lock(&mutex_);
  const auto found = callers_.find(fd);
  if (found == callers_.end()) return "unknown";
  return absl::StrCat("uid ", found->second.uid, " gid ", found->second.gid,
                      " pid ", found->second.pid);
}

absl::StatusOr<std::unique_ptr<LocalServer>> LocalServer::Start(
    const std::string& path, Answers answers) {
  RETURN_IF_ERROR(CheckPath(path));
  RETURN_IF_ERROR(CheckFolder(path.substr(0, path.rfind('/'))));
  const std::string lock_path = absl::StrCat(path, ".lock");
  OwnedFd lock(
      open(lock_path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (lock.get() < 0) return FileStatus(lock_path, errno);
  if (flock(lock.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK) return FileStatus(lock_path, errno);
    return PreconditionWords("msg-hook-socket-held", lock_path);
  }
  std::unique_ptr<LocalServer> server(
      new LocalServer(path, std::move(lock), std::move(answers)));
  RETURN_IF_ERROR(RemoveStale(path));
  RETURN_IF_ERROR(server->Listen());
  return server;
}

absl::Status LocalServer::Listen() {
  grpc::ServerBuilder builder;
  builder.RegisterService(this);
  builder.SetMaxReceiveMessageSize(kMaxReceivedBytes);
  // One thread, which sleeps until a caller arrives.
  builder.SetSyncServerOption(grpc::ServerBuilder::NUM_CQS, 1);
  builder.SetSyncServerOption(grpc::ServerBuilder::MIN_POLLERS, 1);
  builder.SetSyncServerOption(grpc::ServerBuilder::MAX_POLLERS, 1);
  builder.SetSyncServerOption(grpc::ServerBuilder::CQ_TIMEOUT_MSEC,
                              std::numeric_limits<int>::max());
  builder.SetResourceQuota(
      grpc::ResourceQuota("local").SetMaxThreads(kMaxThreads));
  server_ = StartServer(&builder);
  if (server_ == nullptr) {
    return UnavailableWords("msg-hook-socket-serve", path_);
  }
  ASSIGN_OR_RETURN(listener_, LocalListener::Listen(path_));
  listener_->Start([server = server_.get()](int connection) {
    grpc::AddInsecureChannelFromFd(server, connection);
  });
  return absl::OkStatus();
}

void LocalServer::LogCall(const char* call,
                          const grpc::ServerContext& context) const {
  if (!answers_.called) return;
  answers_.called(absl::StrCat(call, " by ", listener_->Who(context.peer())));
}

LocalServer::~LocalServer() {
  // Calls ask the listener who their caller is, so it outlives them.
  if (listener_ != nullptr) listener_->Stop();
  if (server_ != nullptr) {
    server_->Shutdown(std::chrono::system_clock::now() + kShutdownGrace);
    server_->Wait();
  }
  RemoveStale(path_).IgnoreError();
}

grpc::Status LocalServer::RunHook(grpc::ServerContext* context,
                                  const HookRequest* request,
                                  HookAnswer* response) {
  LogCall("RunHook", *context);
  absl::StatusOr<HookAnswer> answer =
      answers_.run_hook(*request, [context] { return context->IsCancelled(); });
  if (!answer.ok()) return ToGrpcStatus(answer.status());
  *response = *std::move(answer);
  return grpc::Status::OK;
}

}  // namespace clusterd
