// What clusterd does before it looks at certificates, agent.yaml or a
// controller: it takes back what a crash cut off. A journal needs none of them,
// and a host must not stay half changed because one of them is wrong. Where the
// journals are:
//   --state of the command line    or, without it,
//   /var/lib/clusterd              the default, and moreover
//   the folders in /var/lib/clusterd/state-folders, one path in a line
// That file is written at every start that gets as far as knowing where
// agent.yaml has `state`, so that neither a mistake in agent.yaml nor another
// folder in it hides a journal that a crash has left. It is believed only if
// root alone can have written it.
#ifndef DAEMON_AGENT_FIRST_RECOVERY_H_
#define DAEMON_AGENT_FIRST_RECOVERY_H_

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "daemon/agent/agent_flags.h"
#include "daemon/agent/run_daemon.h"

namespace clusterd {

// One thread.
class FirstRecovery {
 public:
  // `flags` as ParseAgentFlags leaves them; `machine`: this host's name, for
  // messages. What `parts` leads to must outlive it; of it the observer and
  // `look` are not used.
  FirstRecovery(const AgentFlags& flags, const std::string& machine,
                const DaemonParts& parts);
  ~FirstRecovery();

  // Takes back what can be taken back, and says in the log what came of it, and
  // in the audit file of that folder. One that cannot be written is logged, and
  // keeps no undo from being made. A folder that is not there has nothing.
  void Run();

  // Takes back at once what waits to be confirmed, since nobody can confirm it
  // where no clusterd goes on with the folder; then waits until nothing waits
  // for a device any more. Not in the folder `except`
  // ("": in none is exempt), trying again and again; the log and `systemctl
  // status` say what waits. Only of a device: what else could not be done does
  // not get better by itself. False: SIGTERM came first.
  bool Finish(const std::string& except, const std::string& notify_socket);

  // From now on the journals are in this folder.
  void Remember(const std::string& state);

  // Applies of that folder that wait for a device (Applier::Waiting).
  std::set<std::string> Waiting(const std::string& state) const;

 private:
  struct Folder;

  void RunIn(Folder* folder, bool also_waiting);

  const std::string root_;
  const DaemonParts parts_;
  std::vector<std::unique_ptr<Folder>> folders_;
};

}  // namespace clusterd

#endif  // DAEMON_AGENT_FIRST_RECOVERY_H_
