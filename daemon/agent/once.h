// `clusterd --once`: one look at this host, printed.
#ifndef DAEMON_AGENT_ONCE_H_
#define DAEMON_AGENT_ONCE_H_

#include <ostream>
#include <string>

#include "daemon/agent/agent_flags.h"
#include "daemon/host/host_observer.h"

namespace clusterd {

// Prints facts and findings to `out`, mistakes to `err`. The host's name is
// that of the certificate where there is one, else the machine's own. Returns
// the exit status: 0 pass or warnings only, 1 failure, 2 no complete verdict, 3
// wrong configuration.
int RunOnce(const AgentFlags& flags, const std::string& machine_name,
            HostObserver* observer, std::ostream* out, std::ostream* err);

}  // namespace clusterd

#endif  // DAEMON_AGENT_ONCE_H_
