// Stops firewalls, opens ports in them, and reverts both.
//   ufw        `ufw disable`, `ufw --force enable`, `ufw reload`,
//              `ufw allow proto tcp from 10.0.0.0/24 to any port 60000:60015`
//   firewalld  `systemctl stop|disable|enable|start firewalld`,
//              `firewall-cmd [--permanent] --add-rich-rule=RULE`
// HostReader reads the state after every command; exit statuses are not used:
// `ufw status` exits 0 active or not, and systemd's status of ufw is not the
// firewall's state (seen with ufw 0.36 and firewalld 1.3).
#ifndef DAEMON_HOST_CHANGE_FIREWALL_CHANGER_H_
#define DAEMON_HOST_CHANGE_FIREWALL_CHANGER_H_

#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "daemon/host/change/file_system.h"
#include "daemon/host/change/host_reader.h"
#include "daemon/host/change/mutation_token.h"
#include "daemon/host/command/command_runner.h"
#include "proto/plan.pb.h"

namespace clusterd {

struct FirewallPrograms {
  std::string ufw = "/usr/sbin/ufw";
  std::string firewall_cmd = "/usr/bin/firewall-cmd";
  std::string systemctl = "/usr/bin/systemctl";
  absl::Duration deadline = absl::Seconds(30);  // For one command.
};

// InvalidArgument, naming the mismatch, unless Save or SaveRule made `saved`:
// it names another program or file, or a rule that Add does not make.
absl::Status CheckSavedFirewall(const SavedFirewall& saved);

class FirewallChanger {
 public:
  // All must outlive it.
  FirewallChanger(CommandRunner* runner, FileSystem* files, HostReader* reader,
                  FirewallPrograms programs)
      : runner_(runner),
        files_(files),
        reader_(reader),
        programs_(std::move(programs)) {}

  // Returns what Restore needs to revert a Disable, or with `adds_rules` an Add
  // of any rules: state, start at boot and the configuration files that our
  // commands make the program rewrite. Changes nothing. FailedPrecondition,
  // with the reason, if any of these is unknown.
  absl::StatusOr<SavedFirewall> Save(FirewallProgram program, bool adds_rules);

  // Adds what Restore needs for one rule: whether it exists. Errors as Save.
  absl::StatusOr<SavedFirewall> SaveRule(const FirewallRule& rule);

  // Stops the firewall and disables its start at boot. FailedPrecondition, with
  // the program's words, if it is still active or enabled afterwards.
  absl::Status Disable(const MutationToken& token, FirewallProgram program);

  // Adds the rule, running and permanently, unless `saved` (from SaveRule) has
  // it. FailedPrecondition if the rule is missing afterwards.
  absl::Status Add(const MutationToken& token, const FirewallRule& rule,
                   const SavedFirewall& saved);

  // Restores state, start at boot, rules and files; files even if the rest
  // fails. `saved` comes from Save, plus the rules of every SaveRule. Skips
  // what is already restored. FailedPrecondition if the result differs or may
  // change.
  absl::Status Restore(const MutationToken& token, const SavedFirewall& saved);

 private:
  // Runs a command and keeps its output for the next error.
  absl::StatusOr<CommandResult> Run(std::vector<std::string> argv);
  absl::StatusOr<CommandResult> RunOnRule(absl::string_view verb,
                                          const std::string& rule,
                                          bool permanent);
  absl::StatusOr<bool> HasRule(const std::string& rule, bool permanent);
  // Restores all files despite errors; returns the first error.
  absl::Status RestoreFiles(const MutationToken& token,
                            const SavedFirewall& saved);
  // Removes the rules that `saved` marks as added from firewalld.
  absl::Status RemoveRules(const SavedFirewall& saved);
  // Also starts an active firewalld: a stop can outlast its command inside
  // systemd, and only a start replaces it (systemctl(1), --job-mode).
  absl::Status StartFirewalld();
  absl::Status RestoreUfw(const MutationToken& token,
                          const SavedFirewall& saved);
  absl::Status RestoreFirewalld(const MutationToken& token,
                                const SavedFirewall& saved);
  // Adds the last command's output to the error, if one was run.
  absl::Status LastWas(const absl::Status& error) const;
  absl::Status Expect(FirewallProgram program, bool active, bool enabled);

  CommandRunner* const runner_;
  FileSystem* const files_;
  HostReader* const reader_;
  const FirewallPrograms programs_;
  FindingValue said_;
};

// `rule family="ipv4" source address="10.0.0.0/24" port port="60000-60015"
// protocol="tcp" accept`
std::string RichRule(const AllowedPort& port);

}  // namespace clusterd

#endif  // DAEMON_HOST_CHANGE_FIREWALL_CHANGER_H_
