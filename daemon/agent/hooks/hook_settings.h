// The hooks of a site's scheduler in agent.yaml, with their defaults:
//   hooks:
//     drain: true                # false: drains no host; a Slurm prolog only
//                                # reports, since its failure would drain
//     max_age: 10m               # of a verdict, when the controller is away
//     grace: 10s                 # for a job's last processes, in an epilog
//     fail_open: [lldp]          # a failure of these lets a job through
//     fail_closed: [firewall]    # also without a verdict
//     fail_closed_unknown: [link]  # an unknown result refuses too
//     scontrol: /usr/bin/scontrol
//     slurm_conf: /etc/slurm/slurm.conf   # default: Slurm's own
//
// These failures refuse:
//   in a verdict of the controller   all but `fail_open`
//   by this host alone               those of kHookRules that need no spec (a
//                                    host has none), and `fail_closed`
// An unknown rule lets a job through, except for `fail_closed_unknown`: an
// internal error of clusterd never blocks a job. The answer reports it.
#ifndef DAEMON_AGENT_HOOKS_HOOK_SETTINGS_H_
#define DAEMON_AGENT_HOOKS_HOOK_SETTINGS_H_

#include <set>
#include <string>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "config/spec/yaml_document.h"

namespace clusterd {

// HoldsAlone: this host may refuse for the rule without cluster.yaml. IsOfJob:
// the rule is about the job's request, so it drains no host. Other rules refuse
// in a controller's verdict and drain the host that they are about. The rules'
// rows give the reasons.
bool HoldsAlone(absl::string_view rule);
bool IsOfJob(absl::string_view rule);

// The proof that a drain for a rule may be undone, from weakest to strongest:
// this host's own facts, a controller's verdict about it, or a person, if only
// several hosts together show it.
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

// Reads the key `hooks` of agent.yaml, which may be absent. Records every
// mistake: unknown keys and rules with the nearest known one, a rule that is to
// fail both open and closed, paths that are not absolute.
HookSettings ReadHookSettings(const YamlValue& hooks);

}  // namespace clusterd

#endif  // DAEMON_AGENT_HOOKS_HOOK_SETTINGS_H_
