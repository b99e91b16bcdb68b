// clusterd join: this host gets a certificate of its own from the controller,
// with a key that it makes and that never leaves it. Run again, with the same
// words, it finishes what was cut off, or finds that nothing is left to do.
#ifndef DAEMON_AGENT_IDENTITY_JOIN_COMMAND_H_
#define DAEMON_AGENT_IDENTITY_JOIN_COMMAND_H_

#include <memory>
#include <optional>
#include <ostream>

#include "daemon/agent/identity/enrolment_call.h"
#include "daemon/audit/audit_log.h"

namespace clusterd {

struct JoinFlags {
  std::string controller;  // HOST:PORT, as agent.yaml has it.
  std::vector<std::string> ca_hashes;
  std::string token;
  std::string token_file;
  std::string name;     // Empty: the host's own.
  std::string cluster;  // Empty: as the controller says.
  int enrol_port = 0;   // 0: the one after the controller's.
  std::string root = "/";
  std::string folder = "/etc/clusterd";  // Below the root.
  bool new_key = false;
};

// What it stands on.
struct JoinTools {
  std::string host_name;
  std::string machine_id;
  std::function<absl::Time()> now;
  CallPatience patience;
  // Opens this host's audit file, which has a line before and after what is
  // changed; empty: nobody keeps one.
  std::function<std::unique_ptr<AuditLog>()> open_audit;
  std::ostream* out = nullptr;
};

// Nothing when the program should go on to JoinCluster; else the status that it
// should exit with. `argv` begins with "join".
std::optional<int> ParseJoinFlags(int argc, const char* const* argv,
                                  JoinFlags* flags);

// The agent.yaml of a host that has none: it is only observed.
std::string AgentConfigText(const JoinFlags& flags, const std::string& cluster);

// Writes key, certificates and, if there is none, agent.yaml. Errors say in one
// sentence what to do; until the last moment nothing that counts is changed,
// and nothing at all where the host has this very certificate already.
// Unavailable if the audit file cannot be written, which clusterd does while it
// runs.
absl::Status JoinCluster(const JoinFlags& flags, const JoinTools& parts);

// The whole command, on this machine: 0 joined, 1 not, 3 wrong usage.
// `state_of` says in which folder of the machine this host's daemon keeps its
// state.
int RunJoin(int argc, const char* const* argv,
            const std::function<std::string(const JoinFlags&)>& state_of);

}  // namespace clusterd

#endif  // DAEMON_AGENT_IDENTITY_JOIN_COMMAND_H_
