// Finds the controller and our credentials, and opens channels. Each setting
// comes from the first place that has it: flag, environment,
// ~/.config/clusterd/client.yaml, /etc/clusterd/client.yaml. The file:
//   controller: head:7443
//   ca: ca.crt            # paths are relative to the file's own folder
//   cert: user-ann.crt
//   key: user-ann.key
// Default certificates are ca.crt, user.crt and user.key beside one of these
// files. `cluster: demo` binds to a cluster; without it, the certificate
// decides. Channels connect lazily, as in gRPC: an unreachable controller fails
// the first call.
#ifndef CLIENT_CONNECTION_CONNECTOR_H_
#define CLIENT_CONNECTION_CONNECTOR_H_

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "config/identity/tls_credentials.h"
#include "config/words/terminal.h"
#include "grpcpp/channel.h"

namespace clusterd {

struct ConnectionSettings {
  std::string controller;  // HOST:PORT
  std::string cluster;
  TlsFiles tls;
};

// Given options, by ConnectionSetting::key. Their values are never empty.
using ConnectionFlags = std::map<std::string, std::string>;

// A setting: an option, a variable and a line of a file.
struct ConnectionSetting {
  const char* key;          // In a file; the option has "--" in front.
  const char* variable;     // In the environment.
  const char* placeholder;  // "FILE"
  bool is_path;
  // Its usual name. "": from the certificate. Null: only the user sets it.
  const char* usual;
};
absl::Span<const ConnectionSetting> AllConnectionSettings();

// Paths of the settings files: the user's own, then the system's below `root`.
std::vector<std::string> SettingsFiles(const Environment& environment,
                                       const std::string& root);

// An empty variable counts as not set. Reads files only for settings that are
// still missing; skips missing files. InvalidArgument, with a line per mistake:
//   - a setting is missing; the line names all places that were searched
//   - the address is malformed
//   - a file has an unknown key or is not a YAML mapping
//   - ReadOwnIdentity refuses the certificate that should name the cluster
// NotFound, with the same lines, if no controller is named at all.
absl::StatusOr<ConnectionSettings> ResolveConnection(
    const ConnectionFlags& flags, const Environment& environment,
    const std::vector<std::string>& files);

class Connector {
 public:
  virtual ~Connector() = default;

  // Mutual TLS to the controller. Errors as MakeChannelCredentials.
  virtual absl::StatusOr<std::shared_ptr<grpc::Channel>> ToController(
      const ConnectionSettings& settings) = 0;

  // The clusterd of this machine, over its unix socket.
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
