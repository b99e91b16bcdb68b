// clusterd as a service: attached to its controller and answering on its
// socket, from start to SIGTERM.
#ifndef DAEMON_AGENT_RUN_DAEMON_H_
#define DAEMON_AGENT_RUN_DAEMON_H_

#include "daemon/agent/agent_flags.h"
#include "daemon/agent/agent_stream.h"
#include "daemon/agent/hooks/hook_service.h"
#include "daemon/process/signals.h"

namespace clusterd {

// A hook's questions to the controller, over this host's stream. Every call
// returns once the stream has been stopped.
class StreamLine final : public ControllerLine {
 public:
  explicit StreamLine(std::shared_ptr<AgentStream> stream)
      : stream_(std::move(stream)) {}

  absl::StatusOr<SignedVerdict> AskJob(JobQuestion question,
                                       absl::Duration wait) override;
  absl::StatusOr<DrainAnswer> AskDrain(DrainQuestion question,
                                       absl::Duration wait) override;

 private:
  absl::StatusOr<HubMessage> Ask(AgentMessage question, absl::Duration wait);

  const std::shared_ptr<AgentStream> stream_;
};

// What the daemon stands on and does not own. `access` is to the machine that
// `observer` observes, its locks those of the observer.
struct DaemonParts {
  HostObserver* observer = nullptr;
  MachineAccess access;
  // Reads the host as an apply does, from any thread, to tell drift without
  // being asked; empty: drift is told only with what is observed.
  std::function<HostFacts()> look;
  Applier::DeviceUsers device_users;
  BlockedSignals* signals = nullptr;
  Log* log = nullptr;
  // How long systemd waits for a sign of life (WatchdogLimit); zero: it does
  // not.
  absl::Duration watchdog = absl::ZeroDuration();
};

// A host's audit file has some 25,000 lines; then a new one is begun.
inline constexpr size_t kMaxAuditBytes = 8 << 20;
// Where it is, `state` being below `root`.
std::string AuditPath(absl::string_view root, absl::string_view state);

// What FirstRecovery had to leave unfinished is tried again and again;
// meanwhile the host is observed and every apply is refused with the reason.
// Returns OK after SIGTERM or SIGINT, once an apply under way has ended;
// before, only when the daemon cannot start: errors as ReadOwnIdentity and
// LocalServer::Start. A controller that is away is no reason. `notify_socket`
// is systemd's, see signals.h.
absl::Status RunDaemon(const AgentFlags& flags,
                       const std::string& notify_socket,
                       const DaemonParts& parts);

// Which machine this is, and which of its starts: what the hello tells the
// controller, so that two machines under one name are noticed. machine_id and
// boot_id of /etc/machine-id and /proc/sys/kernel/random/boot_id, empty where
// there is no such file, as in some containers; the name of the simulation
// where the machine is one, as its facts give it; booted_at_s of the line
// "btime" of /proc/stat, proc(5), 0 where there is none. `root` is where the
// machine's files begin.
Hello ReadMachineIds(const std::string& root);

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
  // where no clusterd goes on with the folder. Not in the folder `except`
  // ("": in none is exempt).
  void Finish(const std::string& except);

  // From now on the journals are in this folder.
  void Remember(const std::string& state);

 private:
  struct Folder;

  void RunIn(Folder* folder, bool also_waiting);

  const std::string root_;
  const DaemonParts parts_;
  std::vector<std::unique_ptr<Folder>> folders_;
};

}  // namespace clusterd

#endif  // DAEMON_AGENT_RUN_DAEMON_H_
