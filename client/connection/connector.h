// Where the controller is and who we are to it. Each setting is taken from the
// first place that has it: flag, environment, ~/.config/clusterd/client.yaml,
// /etc/clusterd/client.yaml. The file:
//   controller: head:7443
//   ca: ca.crt            # paths are relative to the file's own folder
//   cert: user-ann.crt
//   key: user-ann.key
// Certificates that nothing names are ca.crt, user.crt and user.key beside one
// of these files. `cluster: demo` binds to a cluster; without, the certificate
// says which. With them the channels are opened that clusterctl talks over.
// Lazy, as gRPC is: that nobody is there shows at the first call.
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

// What was given on the command line, by ConnectionSetting::key. An option that
// is given is never empty.
using ConnectionFlags = std::map<std::string, std::string>;

// Everything that can be set: as an option, a variable and a line of a file.
struct ConnectionSetting {
  const char* key;          // In a file; "--" and it is the option.
  const char* variable;     // In the environment.
  const char* placeholder;  // "FILE"
  bool is_path;
  const char* what;  // For people: "Your certificate".
  // The file's name in its default place. "": the certificate says it. Null:
  // nobody but the user can.
  const char* usual;
};
absl::Span<const ConnectionSetting> AllConnectionSettings();

// The settings files to look into: the user's own, then the system's below
// `root`.
std::vector<std::string> SettingsFiles(const Environment& environment,
                                       const std::string& root);

// InvalidArgument, one line per mistake, if a setting is nowhere (the line then
// names all places that were looked at) or the address is malformed; NotFound,
// with the same lines, if no controller is named at all; if a file that had to
// be read has an unknown key or is no YAML mapping; if the cluster's name is
// left to a certificate that ReadOwnIdentity refuses. An empty variable counts
// as not set. Files are only read for what flags and
// environment leave open; one that does not exist is passed over.
absl::StatusOr<ConnectionSettings> ResolveConnection(
    const ConnectionFlags& flags, const Environment& environment,
    const std::vector<std::string>& files);

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
