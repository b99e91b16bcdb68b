// clusterd as a service: attached to its controller and answering on its
// socket, from start to SIGTERM.
#ifndef DAEMON_AGENT_RUN_DAEMON_H_
#define DAEMON_AGENT_RUN_DAEMON_H_

#include <string>

#include "absl/status/status.h"
#include "daemon/agent/agent_flags.h"
#include "daemon/host/host_observer.h"
#include "daemon/log/log.h"
#include "daemon/process/signals.h"

namespace clusterd {

// Returns OK after SIGTERM or SIGINT; before, only when the daemon cannot
// start: errors as ReadOwnIdentity and LocalServer::Start. A controller that is
// away is no reason. `notify_socket` is systemd's, see notify_systemd.h.
absl::Status RunDaemon(const AgentFlags& flags,
                       const std::string& notify_socket, HostObserver* observer,
                       BlockedSignals* signals, Log* log);

}  // namespace clusterd

#endif  // DAEMON_AGENT_RUN_DAEMON_H_
