// Opens the channels that clusterctl talks over. Lazy, as gRPC is: that nobody
// is there shows at the first call.
#ifndef CLIENT_CONNECTION_CONNECTOR_H_
#define CLIENT_CONNECTION_CONNECTOR_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "client/connection/connection_settings.h"
#include "grpcpp/channel.h"

namespace clusterd {

class Connector {
 public:
  virtual ~Connector() = default;

  // Mutual TLS to the controller. Errors as MakeChannelCredentials.
  virtual absl::StatusOr<std::shared_ptr<grpc::Channel>> ToController(
      const ConnectionSettings& settings) = 0;

  // The clusterd of this machine over its unix socket.
  virtual absl::StatusOr<std::shared_ptr<grpc::Channel>> ToLocalDaemon(
      const std::string& socket_path) = 0;
};

// Safe for concurrent use.
class GrpcConnector final : public Connector {
 public:
  absl::StatusOr<std::shared_ptr<grpc::Channel>> ToController(
      const ConnectionSettings& settings) override;
  // InvalidArgument if the path is empty or too long for a socket.
  absl::StatusOr<std::shared_ptr<grpc::Channel>> ToLocalDaemon(
      const std::string& socket_path) override;
};

}  // namespace clusterd

#endif  // CLIENT_CONNECTION_CONNECTOR_H_
