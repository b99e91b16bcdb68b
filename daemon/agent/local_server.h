// Answers on this host's own unix socket: status, and a check of itself.
#ifndef DAEMON_AGENT_LOCAL_SERVER_H_
#define DAEMON_AGENT_LOCAL_SERVER_H_

#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "daemon/agent/local_socket.h"
#include "grpcpp/server.h"
#include "proto/agent_hub.grpc.pb.h"

namespace clusterd {

// Who may ask is decided by the socket's permission: root and its group.
class LocalService final : public LocalAgent::Service {
 public:
  // Both are called from several threads at once and may block.
  struct Answers {
    std::function<AgentStatus()> status;
    std::function<CheckSelfResponse()> check_self;
  };

  explicit LocalService(Answers answers) : answers_(std::move(answers)) {}

  grpc::Status GetStatus(grpc::ServerContext* context,
                         const GetStatusRequest* request,
                         AgentStatus* response) override;
  grpc::Status CheckSelf(grpc::ServerContext* context,
                         const CheckSelfRequest* request,
                         CheckSelfResponse* response) override;

 private:
  const Answers answers_;
};

class LocalServer {
 public:
  // Errors as LocalSocket::Claim; Unavailable if the socket cannot be listened
  // on. Start it before other threads make files: it sets the umask for a
  // moment.
  static absl::StatusOr<std::unique_ptr<LocalServer>> Start(
      const std::string& path, LocalService::Answers answers);

  // Breaks calls off after a moment, and removes the socket.
  ~LocalServer();

 private:
  LocalServer(std::unique_ptr<LocalSocket> socket,
              LocalService::Answers answers)
      : socket_(std::move(socket)), service_(std::move(answers)) {}

  const std::unique_ptr<LocalSocket> socket_;
  LocalService service_;
  std::unique_ptr<grpc::Server> server_;
};

}  // namespace clusterd

#endif  // DAEMON_AGENT_LOCAL_SERVER_H_
