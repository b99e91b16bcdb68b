// A host's check of itself without a controller: its facts, and the rules that
// need only one host. Also two modes of the program: `clusterd --once` prints
// the check, `clusterd --record` writes one observation with every run of
// hccn_tool for `clusterctl anonymise`.
#ifndef DAEMON_AGENT_SELF_CHECK_H_
#define DAEMON_AGENT_SELF_CHECK_H_

#include <ostream>

#include "daemon/agent/agent_flags.h"
#include "daemon/host/command/clock.h"
#include "daemon/host/command/command_runner.h"
#include "daemon/host/host_observer.h"
#include "proto/agent_hub.pb.h"
#include "proto/job.pb.h"
#include "proto/spec.pb.h"

namespace clusterd {

// A spec for a host without one: its product by the NPUs found (none if that is
// ambiguous), the kernel values and HCCL ports that HCCL's own defaults need,
// and no planned addresses.
ClusterSpec AssumedSpec(const HostFacts& facts);

// Judges this host's facts by AssumedSpec and the rules that need only one
// host, for a hook. `job`: narrowed to this host; nullptr: no job. Applies
// `waivers` in force at `now`; null: none are known. Ports are unused if no
// device has an address, unless a job may need RoCE (unknown on A3) and a link
// is UP. They are also unused if the controller says so.
Report JudgeSelf(const HostFacts& facts, const JobSpec* job,
                 const HostWaivers* waivers = nullptr,
                 absl::Time now = absl::InfiniteFuture());

// Observes the facts for those rules now, for at most `deadline`.
HostFacts ObserveSelf(HostObserver* observer, const std::string& host,
                      absl::Duration deadline);

// Observes now, then judges by `spec`, or by AssumedSpec if there is none; the
// report's notes say which. Its run id is empty; times are the observation's.
// Blocks as long as the observation takes.
CheckSelfResponse CheckSelf(HostObserver* observer, const std::string& host,
                            const std::optional<ClusterSpec>& spec);

// Prints facts and findings to `out`, mistakes to `err`. The host's name is
// that of its certificate, otherwise the machine's. Returns the exit status: 0
// pass or warnings only, 1 failure, 2 no complete verdict, 3 wrong
// configuration.
int RunOnce(const AgentFlags& flags, const std::string& machine_name,
            HostObserver* observer, std::ostream* out, std::ostream* err);

// Observes the machine below `root` and writes a HostRecording, with every run
// of hccn_tool, to `descriptor`: a pipe or a socket and never a file, since it
// holds the site's addresses and names. Returns the exit status: 0 if written;
// 1 if not, with the reason in `err`.
int RecordHost(int descriptor, const std::string& root, CommandRunner* runner,
               Clock* clock, std::ostream* err);

}  // namespace clusterd

#endif  // DAEMON_AGENT_SELF_CHECK_H_
