// What a site may say in agent.yaml about the hooks of its scheduler, and what
// holds where it says nothing:
//   hooks:
//     drain: true                # false: nobody is drained; a Slurm prolog
//                                # then only tells, since to fail is to drain
//     max_age: 10m               # of a verdict, when the controller is away
//     grace: 10s                 # for a job's last processes, in an epilog
//     fail_open: [lldp]          # a failure of these lets a job through
//     fail_closed: [firewall]    # also where this host alone is judged
//     fail_closed_unknown: [link]  # not to be known is refused, too
//     scontrol: /usr/bin/scontrol
//     slurm_conf: /etc/slurm/slurm.conf   # else where Slurm finds it
//
// Which failures refuse:
//   in a verdict of the controller   all, but for `fail_open`
//   by this host alone               those of kHookRules that need no spec (a
//                                    host has none), and `fail_closed`
// What is unknown lets through, but for `fail_closed_unknown`: our own trouble
// is no reason to stop a job, and is told in the answer.
#ifndef DAEMON_AGENT_HOOKS_HOOK_SETTINGS_H_
#define DAEMON_AGENT_HOOKS_HOOK_SETTINGS_H_

#include <set>
#include <string>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "config/spec/yaml_document.h"

namespace clusterd {

// Whether this host may refuse for the rule without cluster.yaml; and whether
// it is about how the job was asked for, so that nobody is drained. Others
// refuse in a controller's verdict and drain the host that they are about. The
// rules' rows say why.
bool HoldsAlone(absl::string_view rule);
bool IsOfJob(absl::string_view rule);

// Who lets a host be used again that was drained for a rule; a later one needs
// more than one before it: what this host sees, a verdict of the controller
// about it, a person, where only several hosts together tell.
enum class Return { kByItself, kByController, kByHand };
Return ReturnOf(absl::string_view rule);

struct HookSettings {
  bool drain = true;
  absl::Duration max_age = absl::Minutes(10);
  absl::Duration grace = absl::Seconds(10);
  std::set<std::string> fail_open;
  std::set<std::string> fail_closed;
  std::set<std::string> fail_closed_unknown;
  std::string scontrol = "/usr/bin/scontrol";
  std::string slurm_conf;  // Empty: scontrol's own default.
};

// The key `hooks` of agent.yaml, absent or not. Records every mistake: unknown
// keys and rules with the nearest known one, a rule that is to fail open and
// closed, paths that are not absolute.
HookSettings ReadHookSettings(const YamlValue& hooks);

}  // namespace clusterd

#endif  // DAEMON_AGENT_HOOKS_HOOK_SETTINGS_H_
