// The local API of this host's daemon: a unix socket that root and its group
// may connect to, held by one daemon at a time. It serves the daemon's status,
// a check of the host, and a scheduler's hooks: 64 concurrent prologs of a job
// array, and as many of the next array.
#ifndef DAEMON_AGENT_LOCAL_LOCAL_SERVER_H_
#define DAEMON_AGENT_LOCAL_LOCAL_SERVER_H_

#include <sys/socket.h>

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "config/values/owned_fd.h"
#include "grpcpp/server.h"
#include "proto/agent_hub.grpc.pb.h"

namespace clusterd {

// Accepts connections on a unix socket, to know each caller: gRPC's own
// listener does not report them.
class LocalListener {
 public:
  // Makes the socket at `path`, for root and its group, and listens. Changes
  // the umask for a moment. Unavailable, with the reason, if that fails.
  static absl::StatusOr<std::unique_ptr<LocalListener>> Listen(
      const std::string& path);
  // The socket's file stays.
  ~LocalListener() { Stop(); }

  // Passes each connection to `take`, its new owner, on a thread. Call once.
  void Start(std::function<void(int connection)> take);

  // Accepts no more connections.
  void Stop();

  // The caller of a connection, from the kernel (SO_PEERCRED, unix(7)): "uid 0
  // gid 0 pid 4711"; "unknown" if there is none. `peer`: gRPC's name of it,
  // "fd:17". A connection that was just closed may give the next caller.
  std::string Who(absl::string_view peer) const ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  LocalListener(OwnedFd listening, OwnedFd stop)
      : listening_(std::move(listening)), stop_(std::move(stop)) {}
  void Accept(const std::function<void(int connection)>& take)
      ABSL_LOCKS_EXCLUDED(mutex_);

  const OwnedFd listening_;
  const OwnedFd stop_;  // An eventfd: writing ends the thread.
  mutable absl::Mutex mutex_;
  // By descriptor, which is reused only after its connection was closed.
  std::map<int, ucred> callers_ ABSL_GUARDED_BY(mutex_);
  std::thread thread_;
};

// Holds the path from Start to destruction.
class LocalServer final : public LocalAgent::Service {
 public:
  // All are called from several threads at once and may block. `gone` is true
  // once the caller has disconnected or was killed.
  struct Answers {
    std::function<AgentStatus()> status;
    std::function<CheckSelfResponse()> check_self;
    std::function<absl::StatusOr<HookAnswer>(const HookRequest& request,
                                             const std::function<bool()>& gone)>
        run_hook;
    // Called before an answer: "GetStatus by uid 0 gid 0 pid 4711"; optional.
    std::function<void(const std::string& call)> called = nullptr;
  };

  // Takes the lock PATH.lock, and replaces the socket of a daemon that did not
  // end cleanly. Call it before other threads make files: it changes the umask
  // for a moment. InvalidArgument if the path is not absolute or too long for a
  // socket; NotFound if its folder is missing; PermissionDenied if others than
  // root could change that folder; FailedPrecondition if another daemon holds
  // the lock, or if the path is not a socket, which is never removed.
  // Unavailable if it cannot listen; PermissionDenied otherwise.
  static absl::StatusOr<std::unique_ptr<LocalServer>> Start(
      const std::string& path, Answers answers);

  // Ends calls after a moment, removes the socket and releases the lock. The
  // lock file stays: otherwise two daemons could lock two files of one name.
  ~LocalServer() override;

  // The socket's permission decides who may ask: root and its group.
  grpc::Status GetStatus(grpc::ServerContext* context, const GetStatusRequest*,
                         AgentStatus* response) override {
    LogCall("GetStatus", *context);
    *response = answers_.status();
    return grpc::Status::OK;
  }
  grpc::Status CheckSelf(grpc::ServerContext* context, const CheckSelfRequest*,
                         CheckSelfResponse* response) override {
    LogCall("CheckSelf", *context);
    *response = answers_.check_self();
    return grpc::Status::OK;
  }
  grpc::Status RunHook(grpc::ServerContext* context, const HookRequest* request,
                       HookAnswer* response) override;

 private:
  LocalServer(std::string path, OwnedFd lock, Answers answers)
      : path_(std::move(path)),
        lock_(std::move(lock)),
        answers_(std::move(answers)) {}
  absl::Status Listen();
  void LogCall(const char* call, const grpc::ServerContext& context) const;

  const std::string path_;
  const OwnedFd lock_;
  const Answers answers_;
  std::unique_ptr<grpc::Server> server_;
  std::unique_ptr<LocalListener> listener_;
};

}  // namespace clusterd

#endif  // DAEMON_AGENT_LOCAL_LOCAL_SERVER_H_
