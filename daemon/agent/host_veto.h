// What this host allows at this moment, read anew for every change: who takes a
// word out of agent.yaml need not restart anything to be obeyed.
#ifndef DAEMON_AGENT_HOST_VETO_H_
#define DAEMON_AGENT_HOST_VETO_H_

#include <string>

#include "daemon/agent/apply/veto.h"
#include "daemon/log/log.h"

namespace clusterd {

// From the file of --config; "": there is none. Observing alone, with the
// reason in the log, if the file cannot be read or has any mistake.
Veto ReadHostVeto(const std::string& config, Log* log);

}  // namespace clusterd

#endif  // DAEMON_AGENT_HOST_VETO_H_
