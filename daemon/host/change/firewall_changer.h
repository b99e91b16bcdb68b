// Stops firewalls, opens ports in them, and takes both back.
//   ufw        `ufw disable`, `ufw --force enable`, `ufw reload`,
//              `ufw allow proto tcp from 10.0.0.0/24 to any port 60000:60015`
//   firewalld  `systemctl stop|disable|enable|start firewalld`,
//              `firewall-cmd [--permanent] --add-rich-rule=RULE`
// The state comes from HostReader after every command, never from a status:
// `ufw status` exits 0 active or not, and systemd's word about ufw is not the
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

// InvalidArgument, with what is not so: a text that is to be put back was not
// made by FirewallChanger::Save or SaveRule, since it names another program,
// another file than those, or is another rule than Add makes.
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

  // What Restore needs to take a Disable back, or with `adds_rules` an Add of
  // any rules: state, start at boot and the configuration files that our
  // commands make the program rewrite. Changes nothing.
  // FailedPrecondition, with the reason, if any of that cannot be told.
  absl::StatusOr<SavedFirewall> Save(FirewallProgram program, bool adds_rules);

  // The rest of what it needs for one rule: whether that is there. Errors as
  // Save.
  absl::StatusOr<SavedFirewall> SaveRule(const FirewallRule& rule);

  // Stops it and keeps it from starting at boot. FailedPrecondition, with what
  // the program said, if it is then still active or enabled.
  absl::Status Disable(const MutationToken& token, FirewallProgram program);

  // Adds the rule, running and permanently, where `saved`, of SaveRule, says
  // that it is not there. FailedPrecondition if it then is not.
  absl::Status Add(const MutationToken& token, const FirewallRule& rule,
                   const SavedFirewall& saved);

  // Makes state, start at boot, rules and files what they were; files also when
  // the rest fails. `saved` has what Save gave and the rules of all that
  // SaveRule gave. Does nothing that is done already. FailedPrecondition if it
  // is then not so, or may not stay so.
  absl::Status Restore(const MutationToken& token, const SavedFirewall& saved);

 private:
  // Runs and keeps what was said for the next error.
  absl::StatusOr<CommandResult> Run(std::vector<std::string> argv);
  absl::StatusOr<CommandResult> RunOnRule(absl::string_view verb,
                                          const std::string& rule,
                                          bool permanent);
  absl::StatusOr<bool> HasRule(const std::string& rule, bool permanent);
  // All of them, whatever becomes of one; the first error.
  absl::Status RestoreFiles(const MutationToken& token,
                            const SavedFirewall& saved);
  // The rules that `saved` says were added, from firewalld.
  absl::Status RemoveRules(const SavedFirewall& saved);
  // Also when it is active: a stop that outlived its command goes on inside
  // systemd, and only a start takes its place (systemctl(1), --job-mode).
  absl::Status StartFirewalld();
  absl::Status RestoreUfw(const MutationToken& token,
                          const SavedFirewall& saved);
  absl::Status RestoreFirewalld(const MutationToken& token,
                                const SavedFirewall& saved);
  // With what the last command said, if one was run.
  absl::Status LastWas(const absl::Status& error) const;
  // Compares with the machine.
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
