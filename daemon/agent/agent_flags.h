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

// Settings of both sources. Empty: not given.
struct AgentSettings {
  std::string controller;
  std::string cluster;
  TlsFiles tls;
  std::string socket;
  // Folder below the root for journals, which must outlive the daemon.
  std::string state;
  // Interval of drift checks; zero ("0"): only after attaching and changes.
  std::optional<absl::Duration> drift_interval;
  // Below the root.
  std::string metrics_file;
};

struct AgentConfig : AgentSettings {
  // Without the key, only observing is allowed.
  HostAllows allows = AllowsOnly({CHANGE_OBSERVE});
  HookSettings hooks;
};

struct AgentFlags : AgentSettings {
  // Empty: none was named, and the default file is missing.
  std::string config;
  // Root of the machine's files.
  std::string root;
  // Print facts and own findings and end, without any controller.
  bool once = false;
  // Write the runs of one observation and end; see self_check.h.
  bool record = false;
  std::string format;  // "text" or "json".
  std::string spec;    // cluster.yaml to judge --once by; empty: none.
};

// Both return nullopt if the program should go on; otherwise its exit status: 0
// after --help and --version, 3 after wrong usage or a mistake in the file.
// They have printed their messages then.

// Reads the command line alone, which is enough for FirstRecovery.
std::optional<int> ParseAgentFlags(int argc, const char* const* argv,
                                   AgentFlags* flags);
// Adds the settings of the file of --config, and the defaults.
std::optional<int> AddAgentConfig(AgentFlags* flags);

// InvalidArgument with every mistake of the file, one per line with line and
// column: invalid YAML, unknown keys with the nearest known one, values that
// are not text, paths that are not absolute. Text in, value out.
absl::StatusOr<AgentConfig> ParseAgentConfig(absl::string_view file_name,
                                             absl::string_view text);

// Reads and parses a file; errors also as ReadRegularFile.
absl::StatusOr<AgentConfig> ReadAgentConfig(const std::string& path);

// The changes that the file of --config allows; "": no such file. Re-read
// before every change, so that an edit takes effect at once. Only observing,
// with the reason in `log`, if the file is unreadable or has a mistake. Without
// `log` the reason is reported with the host's facts, for plans.
HostAllows ReadHostAllows(const std::string& config, Log* log = nullptr);

// Re-read for every hook. The defaults, but with drains off and the reason in
// the log, if the file is unreadable or has a mistake.
HookSettings ReadHooks(const std::string& config, Log* log);

}  // namespace clusterd

#endif  // DAEMON_AGENT_AGENT_FLAGS_H_
