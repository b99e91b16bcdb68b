// clusterd as a service: attached to its controller and answering on its
// socket, from start to SIGTERM.
#ifndef DAEMON_AGENT_RUN_DAEMON_H_
#define DAEMON_AGENT_RUN_DAEMON_H_

#include "daemon/agent/agent_flags.h"
#include "daemon/agent/agent_stream.h"
#include "daemon/agent/hooks/hook_service.h"
#include "daemon/process/signals.h"

namespace clusterd {

// Sends a hook's questions to the controller over this host's stream. Every
// call returns once the stream has been stopped.
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

// The controller's answer to the question. The controller's own error in
// printable words, or Unknown if the answer is to another question.
absl::StatusOr<SignedVerdict> VerdictIn(HubMessage answer);
absl::StatusOr<DrainAnswer> DrainAnswerIn(HubMessage answer);

// Objects that the daemon uses and does not own. `access` reaches the machine
// that `observer` observes; both share the same locks.
struct DaemonParts {
  HostObserver* observer = nullptr;
  MachineAccess access;
  // Reads the host as an apply does, from any thread, to report drift
  // unrequested; empty: drift is only reported with observations.
  std::function<HostFacts()> read_host;
  Applier::DeviceUsers device_users;
  BlockedSignals* signals = nullptr;
  Log* log = nullptr;
  // systemd expects a sign of life this often (WatchdogLimit); zero: never.
  absl::Duration watchdog = absl::ZeroDuration();
};

// A host's audit file holds some 25,000 lines; then a new one is begun.
inline constexpr size_t kMaxAuditBytes = 8 << 20;
// Path of the audit file; `state` is below `root`.
std::string AuditPath(absl::string_view root, absl::string_view state);

// Makes the folder and its parents. Errors show when its files are used.
void MakeStateFolder(const std::string& folder, FileSystem* files);

// The options of the applier whose journals are below `state`.
ApplierOptions OptionsOf(const std::string& host, const std::string& root,
                         const std::string& state);

// Retries what FirstRecovery left unfinished; meanwhile the host is observed
// and every apply is refused with the reason. Returns OK after SIGTERM or
// SIGINT, once a running apply has ended. Returns earlier only if the daemon
// cannot start: errors as ReadOwnIdentity and LocalServer::Start. It continues
// without a controller. `notify_socket` is systemd's, see signals.h.
absl::Status RunDaemon(const AgentFlags& flags,
                       const std::string& notify_socket,
                       const DaemonParts& parts);

// Identifies this machine and its boot in the hello, so that the controller
// notices two machines under one name. machine_id and boot_id are from
// /etc/machine-id and /proc/sys/kernel/random/boot_id, empty if the file is
// missing, as in some containers. A simulated machine also has the name of its
// simulation, from its facts. booted_at_s is the line "btime" of /proc/stat,
// proc(5), 0 if it is missing. `root` is the folder of the machine's files.
Hello ReadMachineIds(const std::string& root);

// Undoes interrupted applies, before clusterd reads certificates, agent.yaml
// or a controller's messages. A journal needs none of them, and a host must not
// stay half changed because one of them is wrong. The journals are in
//   --state of the command line    or, without it,
//   /var/lib/clusterd              the default, and also
//   the folders in /var/lib/clusterd/state-folders, one path in a line
// Every start that reads `state` from agent.yaml writes that file. So neither a
// mistake in agent.yaml nor another folder in it hides a journal of a crash.
// The file is trusted only if root alone can have written it. One thread.
class FirstRecovery {
 public:
  // `flags` is the result of ParseAgentFlags; `machine` is this host's name,
  // for messages. `parts`, whose observer and `read_host` are unused, must
  // outlive it.
  FirstRecovery(const AgentFlags& flags, const std::string& machine,
                const DaemonParts& parts);
  ~FirstRecovery();

  // Undoes what it can, and writes each result to the log and to the audit file
  // of that folder. If that file cannot be written, logs that and still undoes.
  // A missing folder has no journals.
  void Run();

  // Rolls back at once all unconfirmed applies, except in the folder `except`
  // (may be ""). Without a clusterd for their folder they cannot be confirmed.
  void Finish(const std::string& except);

  // Records that the journals are in this folder from now on.
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
