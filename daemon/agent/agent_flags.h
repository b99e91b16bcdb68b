// What clusterd is told, on its command line and in the file of --config. The
// file, /etc/clusterd/agent.yaml, says to whom this host's daemon belongs:
//   controller: controller.example:7443
// what this host allows it to do:
//   allow: [observe, sysctl]
// and, where they are to be others than these, which need no line:
//   ca: /etc/clusterd/ca.crt
//   cert: /etc/clusterd/host.crt
//   key: /etc/clusterd/host.key
//   socket: /run/clusterd/agent.sock
//   state: /var/lib/clusterd
//   drift_interval: 10m
// where it leaves metrics for node_exporter (metrics_file.h), which it does not
// without:
//   metrics_file: /var/lib/clusterd-metrics/clusterd.prom
// and what a scheduler's hooks are answered by: `hooks`, hooks/hook_settings.h.
// `cluster: demo` binds it to a cluster; without, the certificate says which.
// The command line has every key but `allow`, `hooks`, `drift_interval` and
// `metrics_file`, and wins.
#ifndef DAEMON_AGENT_AGENT_FLAGS_H_
#define DAEMON_AGENT_AGENT_FLAGS_H_

#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "config/identity/tls_credentials.h"
#include "daemon/agent/apply/veto.h"
#include "daemon/agent/hooks/hook_settings.h"
#include "daemon/process/log.h"
#include "proto/facts.pb.h"

namespace clusterd {

// Where a daemon keeps its state unless it is told otherwise.
inline constexpr char kDefaultState[] = "/var/lib/clusterd";

// What both can say. Empty: not said.
struct AgentSettings {
  std::string controller;
  std::string cluster;
  TlsFiles tls;
  std::string socket;
  // Folder below the root for what must outlive the daemon: journals of
  // applies.
  std::string state;
  // How often the host looks for drift; zero ("0"): only when it attaches and
  // after changes.
  std::optional<absl::Duration> drift_interval;
  // Below the root.
  std::string metrics_file;
};

struct AgentConfig : AgentSettings {
  // Without the key: observing alone.
  HostAllows allows = AllowsOnly({CHANGE_OBSERVE});
  HookSettings hooks;
};

struct AgentFlags : AgentSettings {
  // Empty: none was named, and none is in its default place.
  std::string config;
  // Where the machine's files begin.
  std::string root;
  // Print facts and own findings and end, without any controller.
  bool once = false;
  // Write the runs of one observation and end; see self_check.h.
  bool record = false;
  std::string format;  // "text" or "json".
  std::string spec;    // cluster.yaml to judge --once by; empty: none.
};

// Both: nothing when the program should go on; else the status that it should
// exit with: 0 after --help and --version, 3 after wrong usage or a mistake in
// the file. What there is to say has been printed then.

// The command line alone, which is enough to recover by (FirstRecovery).
std::optional<int> ParseAgentFlags(int argc, const char* const* argv,
                                   AgentFlags* flags);
// Adds what the file of --config says, and the defaults.
std::optional<int> AddAgentConfig(AgentFlags* flags);

// InvalidArgument with every mistake of the file, one per line with line and
// column: what is no YAML, unknown keys with the nearest known one, values that
// are no text, paths that are not absolute. Text in, value out.
absl::StatusOr<AgentConfig> ParseAgentConfig(absl::string_view file_name,
                                             absl::string_view text);

// Reads and parses a file; errors also as ReadRegularFile.
absl::StatusOr<AgentConfig> ReadAgentConfig(const std::string& path);

// What this host allows by the file of --config; "": there is none. Re-read for
// every change, so that an edit counts at once. Observing alone, with the
// reason in `log`, if the file cannot be read or has any mistake. Without `log`
// it is told with the host's facts, so that a plan asks for nothing else.
HostAllows ReadHostAllows(const std::string& config, Log* log = nullptr);

// Also read anew for every hook. The defaults, but nobody is drained, with the
// reason in the log, if the file cannot be read or has any mistake.
HookSettings ReadHooks(const std::string& config, Log* log);

}  // namespace clusterd

#endif  // DAEMON_AGENT_AGENT_FLAGS_H_
