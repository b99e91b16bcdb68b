// Reads /etc/clusterd/agent.yaml, which says to whom this host's daemon
// belongs:
//   controller: controller.example:7443
//   cluster: demo
//   ca: /etc/clusterd/ca.crt
//   cert: /etc/clusterd/host.crt
//   key: /etc/clusterd/host.key
//   socket: /run/clusterd/agent.sock
// Every key may be left to the command line. Text in, value out.
#ifndef DAEMON_AGENT_AGENT_CONFIG_H_
#define DAEMON_AGENT_AGENT_CONFIG_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace clusterd {

// Empty: the file does not say.
struct AgentConfig {
  std::string controller;
  std::string cluster;
  std::string ca;
  std::string certificate;
  std::string key;
  std::string socket;
};

// InvalidArgument with every mistake of the file, one per line with line and
// column: what is no YAML, unknown keys with the nearest known one, values that
// are no text, paths that are not absolute.
absl::StatusOr<AgentConfig> ParseAgentConfig(absl::string_view file_name,
                                             absl::string_view text);

// Reads and parses a file. NotFound or PermissionDenied if it cannot be read.
absl::StatusOr<AgentConfig> ReadAgentConfig(const std::string& path);

}  // namespace clusterd

#endif  // DAEMON_AGENT_AGENT_CONFIG_H_
