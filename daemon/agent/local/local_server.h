// Where this host's daemon can be asked by those on the host: a unix socket
// that root and its group may connect to, held by one daemon at a time. It
// answers with its status, with a check of itself, and a scheduler's hooks: 64
// prologs of a job array at once, and as many of the next one.
#ifndef DAEMON_AGENT_LOCAL_LOCAL_SERVER_H_
#define DAEMON_AGENT_LOCAL_LOCAL_SERVER_H_

#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "daemon/agent/local/local_listener.h"
#include "grpcpp/server.h"
#include "proto/agent_hub.grpc.pb.h"

namespace clusterd {

// Holds the path from Start to destruction.
class LocalServer final : public LocalAgent::Service {
 public:
  // All are called from several threads at once and may block. `gone`: whether
  // who asked has hung up, or was killed.
  struct Answers {
    std::function<AgentStatus()> status;
    std::function<CheckSelfResponse()> check_self;
    std::function<absl::StatusOr<HookAnswer>(const HookRequest& request,
                                             const std::function<bool()>& gone)>
        run_hook = nullptr;  // UNIMPLEMENTED then.
    // Told of each call before it is answered: "GetStatus by uid 0 gid 0 pid
    // 4711". Empty: nobody is.
    std::function<void(const std::string& call)> called = nullptr;
  };

  // Takes the lock PATH.lock, and replaces the socket that a daemon which did
  // not end cleanly has left. Start it before other threads make files: it sets
  // the umask for a moment. InvalidArgument if the path is not absolute or too
  // long for a socket; NotFound if its folder is missing; PermissionDenied if
  // others than root could change that folder; FailedPrecondition if
  // another daemon holds the lock, or if something that is no socket is at the
  // path: that is never removed; Unavailable if the socket cannot be listened
  // on; PermissionDenied otherwise.
  static absl::StatusOr<std::unique_ptr<LocalServer>> Start(
      const std::string& path, Answers answers);

  // Breaks calls off after a moment, removes the socket and gives the lock up.
  // The lock file stays: removing it would let two daemons lock two files of
  // one name.
  ~LocalServer() override;

  // Who may ask is decided by the socket's permission: root and its group.
  grpc::Status GetStatus(grpc::ServerContext* context,
                         const GetStatusRequest* request,
                         AgentStatus* response) override;
  grpc::Status CheckSelf(grpc::ServerContext* context,
                         const CheckSelfRequest* request,
                         CheckSelfResponse* response) override;
  grpc::Status RunHook(grpc::ServerContext* context, const HookRequest* request,
                       HookAnswer* response) override;

 private:
  LocalServer(std::string path, int lock_fd, Answers answers)
      : path_(std::move(path)),
        lock_fd_(lock_fd),
        answers_(std::move(answers)) {}
  absl::Status Listen();
  void Told(const char* call, const grpc::ServerContext& context) const;

  const std::string path_;
  const int lock_fd_;
  const Answers answers_;
  std::unique_ptr<grpc::Server> server_;
  std::unique_ptr<LocalListener> listener_;
};

}  // namespace clusterd

#endif  // DAEMON_AGENT_LOCAL_LOCAL_SERVER_H_
