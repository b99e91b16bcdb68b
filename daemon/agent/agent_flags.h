// The command line of clusterd. What it does not say, the file of --config may;
// see agent_config.h.
#ifndef DAEMON_AGENT_AGENT_FLAGS_H_
#define DAEMON_AGENT_AGENT_FLAGS_H_

#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "config/identity/tls_credentials.h"

namespace clusterd {

struct AgentFlags {
  std::string config;  // Empty: no file.
  std::string controller;
  std::string cluster;
  TlsFiles tls;
  std::string socket;
  // Folder below the root for what must outlive the daemon: journals of
  // applies.
  std::string state;
  // Zero: only when the host attaches and after changes.
  absl::Duration drift_interval = absl::Minutes(10);
  // Where the machine's files begin.
  std::string root;
  // Print facts and own findings and end, without any controller.
  bool once = false;
  // New file for the runs of one observation; empty: none. See record.h.
  std::string record;
  std::string format;  // "text" or "json".
  std::string spec;    // cluster.yaml to judge --once by; empty: none.
};

// Nothing when the program should go on; else the status that it should exit
// with: 0 after --help and --version, 3 after wrong usage or a mistake in the
// file. What there is to say has been printed then.
std::optional<int> ParseAgentFlags(int argc, const char* const* argv,
                                   AgentFlags* flags);

}  // namespace clusterd

#endif  // DAEMON_AGENT_AGENT_FLAGS_H_
