// One look at this host, without a controller: `clusterd --once` prints it,
// `clusterd --record` writes it for `clusterctl anonymise`.
#ifndef DAEMON_AGENT_ONCE_H_
#define DAEMON_AGENT_ONCE_H_

#include <ostream>
#include <string>

#include "daemon/agent/agent_flags.h"
#include "daemon/host/command/clock.h"
#include "daemon/host/command/command_runner.h"
#include "daemon/host/host_observer.h"

namespace clusterd {

// Prints facts and findings to `out`, mistakes to `err`. The host's name is
// that of the certificate where there is one, else the machine's own. Returns
// the exit status: 0 pass or warnings only, 1 failure, 2 no complete verdict, 3
// wrong configuration.
int RunOnce(const AgentFlags& flags, const std::string& machine_name,
            HostObserver* observer, std::ostream* out, std::ostream* err);

// Observes the machine below `root` and writes a HostRecording, with every run
// of hccn_tool as it was, to `descriptor`: a pipe or a socket and never a file,
// for it holds the site's addresses and names. Returns the exit status: 0
// written; 1 not written, and `err` says why.
int RecordHost(int descriptor, const std::string& root, CommandRunner* runner,
               Clock* clock, std::ostream* err);

}  // namespace clusterd

#endif  // DAEMON_AGENT_ONCE_H_
