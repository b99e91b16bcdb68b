// How Slurm sees this host, by what `scontrol show node NAME -o` prints:
//   NodeName=n1 Arch=x86_64 … State=IDLE+DRAIN ThreadsPerCore=1 …
//   ExtSensorsTemp=n/s Reason=clusterd: link: device 3: DOWN (until mended)
//   [root@2026-11-23T22:43:49] Comment=rack 7
// in one line (Slurm 22.05.8, as recorded; scontrol(1), "show"). Without a
// reason the field is not there. Text in, value out; drainer.h runs scontrol.
#ifndef DAEMON_AGENT_HOOKS_SLURM_NODE_H_
#define DAEMON_AGENT_HOOKS_SLURM_NODE_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace clusterd {

struct SlurmNode {
  std::string name;
  std::vector<std::string> states;  // "IDLE", "DRAIN".
  std::string reason;               // Without who set it and when.

  bool IsDrained() const;
  // The reason is one of ours as DrainReason made it: a person who has changed
  // it, or added to it, has taken the drain over.
  bool IsOurs() const;
  // Somebody else's reason stands there, which must not be replaced. Slurm's
  // own words for a hook of ours that refused, and for a host that was away,
  // are nobody's.
  bool IsOfOthers() const;
};

// InvalidArgument, quoting the start, for what has not this form.
absl::StatusOr<SlurmNode> ParseSlurmNode(absl::string_view line);

// Whether `name` can be one node's name on a command line: IsHostName, which
// leaves no place for a list of nodes, an option or a blank.
bool IsSlurmNodeName(absl::string_view name);

// The rule in a reason of ours, "clusterd: link: device 3: DOWN"; empty if it
// is none.
std::string RuleOfReason(absl::string_view reason);

// A reason as scontrol takes it: one printable line with our prefix and without
// the quotes that scontrol drops from its arguments, so that it reads back as
// it was written. Its end tells who takes the drain back: "(until mended)" we
// do, "(until RESUME)" a person must; see ReturnOf.
std::string DrainReason(absl::string_view reason);

}  // namespace clusterd

#endif  // DAEMON_AGENT_HOOKS_SLURM_NODE_H_
