// Where this host's daemon can be asked by those on the host: a unix socket
// that root and its group may connect to, held by one daemon at a time. It
// answers with its status, and with a check of itself.
#ifndef DAEMON_AGENT_LOCAL_SERVER_H_
#define DAEMON_AGENT_LOCAL_SERVER_H_

#include <sys/stat.h>

#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "grpcpp/server.h"
#include "proto/agent_hub.grpc.pb.h"

namespace clusterd {

// Holds the path from Claim to destruction.
class LocalSocket {
 public:
  // Takes the lock PATH.lock, and removes the socket that a daemon which did
  // not end cleanly has left. InvalidArgument if the path is not absolute or
  // too long for a socket; NotFound if its folder is missing;
  // FailedPrecondition if another daemon holds the lock, or if something that
  // is no socket is at the path: that is never removed; PermissionDenied
  // otherwise.
  static absl::StatusOr<std::unique_ptr<LocalSocket>> Claim(
      const std::string& path);

  // Removes the socket and gives the lock up. The lock file stays: removing it
  // would let two daemons lock two files of one name.
  ~LocalSocket();
  LocalSocket(const LocalSocket&) = delete;
  LocalSocket& operator=(const LocalSocket&) = delete;

  // As gRPC wants it: "unix:" and the path.
  std::string address() const { return "unix:" + path_; }
  // Permission 0660. Call it when the socket is bound; until then the umask of
  // RestrictedUmask protects it.
  absl::Status SetMode() const;

 private:
  LocalSocket(std::string path, int lock_fd)
      : path_(std::move(path)), lock_fd_(lock_fd) {}

  const std::string path_;
  const int lock_fd_;
};

// While it lives, files that the process makes are for owner and group only.
// The umask is the whole process's: use it before other threads make files.
class RestrictedUmask {
 public:
  RestrictedUmask() : before_(umask(0117)) {}
  ~RestrictedUmask() { umask(before_); }
  RestrictedUmask(const RestrictedUmask&) = delete;
  RestrictedUmask& operator=(const RestrictedUmask&) = delete;

 private:
  const mode_t before_;
};

class LocalServer {
 public:
  // Both are called from several threads at once and may block.
  struct Answers {
    std::function<AgentStatus()> status;
    std::function<CheckSelfResponse()> check_self;
  };

  // Errors as LocalSocket::Claim; Unavailable if the socket cannot be listened
  // on. Start it before other threads make files: it sets the umask for a
  // moment.
  static absl::StatusOr<std::unique_ptr<LocalServer>> Start(
      const std::string& path, Answers answers);

  // Breaks calls off after a moment, and removes the socket.
  ~LocalServer();

 private:
  LocalServer(std::unique_ptr<LocalSocket> socket, Answers answers);

  const std::unique_ptr<LocalSocket> socket_;
  const std::unique_ptr<LocalAgent::Service> service_;
  std::unique_ptr<grpc::Server> server_;
};

}  // namespace clusterd

#endif  // DAEMON_AGENT_LOCAL_SERVER_H_
