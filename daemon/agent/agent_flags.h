// Settings of clusterd, from its command line and the file of --config. The
// file, /etc/clusterd/agent.yaml, names the controller of this host's daemon:
//   controller: controller.example:7443
// what this host allows it to change:
//   allow: [observe, sysctl]
// and these keys, which may be left out and have these defaults:
//   ca: /etc/clusterd/ca.crt
//   cert: /etc/clusterd/host.crt
//   key: /etc/clusterd/host.key
//   socket: /run/clusterd/agent.sock
//   state: /var/lib/clusterd
//   drift_interval: 10m
// the metrics file for node_exporter (metrics_file.h), which is not written
// without this key:
//   metrics_file: /var/lib/clusterd-metrics/clusterd.prom
// and `hooks` for a scheduler's hooks (hooks/hook_settings.h). `cluster: demo`
// binds it to a cluster; by default the certificate does. The command line
// wins, and has every key but `allow`, `hooks`, `drift_interval` and
// `metrics_file`.
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

// The default folder of a daemon's state.
inline constexpr char kDefaultState[] = "/var/lib/clusterd";

// Settings from the command line or the file. Empty: not set.
struct AgentSettings {
  std::string controller;
  std::string cluster;
  TlsFiles tls;
  std::string socket;
  // Folder below the root for journals, which must survive the daemon.
  std::string state;
  // Interval of drift checks; zero ("0"): only after attaching and changes.
  std::optional<absl::Duration> drift_interval;
  // A path below the root.
  std::string metrics_file;
};

struct AgentConfig : AgentSettings {
  // Without this key, only observing is allowed.
  HostAllows allows = AllowsOnly({CHANGE_OBSERVE});
  HookSettings hooks;
};

struct AgentFlags : AgentSettings {
  // Empty: none was named, and the default file does not exist.
  std::string config;
  // Root of the machine's files.
  std::string root;
  // Prints facts and its own findings and ends, without a controller.
  bool once = false;
  // Writes the runs of one observation and ends; see self_check.h.
  bool record = false;
  std::string format;  // "text" or "json".
  std::string spec;    // cluster.yaml for --once; empty: none.
};

// Both return nullopt if the program should continue; otherwise the exit
// status, with the messages printed: 0 after --help and --version, 3 after
// wrong usage or a mistake in the file.

// Reads only the command line, which is enough for FirstRecovery.
std::optional<int> ParseAgentFlags(int argc, const char* const* argv,
                                   AgentFlags* flags);
// Adds the settings of the file of --config, and the defaults.
std::optional<int> AddAgentConfig(AgentFlags* flags);

// InvalidArgument with every mistake of the file, one per line with line and
// column: invalid YAML, unknown keys with the nearest known one, values that
// are not text, paths that are not absolute. Pure.
absl::StatusOr<AgentConfig> ParseAgentConfig(absl::string_view file_name,
                                             absl::string_view text);

// Reads and parses a file; errors also as ReadRegularFile.
absl::StatusOr<AgentConfig> ReadAgentConfig(const std::string& path);

// The changes that the file of --config allows; "": no such file. It is re-read
// before every change, so that an edit takes effect at once. If it is
// unreadable or has a mistake, only observing is allowed; `log` gets the
// reason, or, without `log`, the host's facts.
HostAllows ReadHostAllows(const std::string& config, Log* log = nullptr);

// Re-read for every hook. If the file is unreadable or has a mistake, returns
// the defaults without drains, and logs the reason.
HookSettings ReadHooks(const std::string& config, Log* log);

}  // namespace clusterd

#endif  // DAEMON_AGENT_AGENT_FLAGS_H_
