// Reads /etc/clusterd/agent.yaml, which says to whom this host's daemon
// belongs:
//   controller: controller.example:7443
//   cluster: demo
//   ca: /etc/clusterd/ca.crt
//   cert: /etc/clusterd/host.crt
//   key: /etc/clusterd/host.key
//   socket: /run/clusterd/agent.sock
//   state: /var/lib/clusterd
//   drift_interval: 10m
// and what this host allows it to do:
//   allow: [observe, sysctl]
// Every key but `allow` and `drift_interval` may be left to the command line.
// Text in, value out.
#ifndef DAEMON_AGENT_AGENT_CONFIG_H_
#define DAEMON_AGENT_AGENT_CONFIG_H_

#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "daemon/agent/apply/veto.h"

namespace clusterd {

// Empty: the file does not say.
struct AgentConfig {
  std::string controller;
  std::string cluster;
  std::string ca;
  std::string certificate;
  std::string key;
  std::string socket;
  std::string state;
  // How often the host looks for drift; zero ("0"): only when it attaches and
  // after changes.
  std::optional<absl::Duration> drift_interval;
  // Without the key: observing alone.
  Veto veto;
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
