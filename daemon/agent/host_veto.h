// What this host allows at this moment, read anew for every change: who takes a
// word out of agent.yaml need not restart anything to be obeyed.
#ifndef DAEMON_AGENT_HOST_VETO_H_
#define DAEMON_AGENT_HOST_VETO_H_

#include <string>

#include "daemon/agent/apply/veto.h"
#include "daemon/log/log.h"
#include "proto/facts.pb.h"

namespace clusterd {

// From the file of --config; "": there is none. Observing alone, with the
// reason in the log, if the file cannot be read or has any mistake.
Veto ReadHostVeto(const std::string& config, Log* log);

// Why an observation may not write /etc/hccn.conf on this host, with the line
// that would permit it; empty: the file allows tls or hccn-conf. For
// ObserverOptions::why_no_conf_write.
std::string WhyNoConfWrite(const std::string& config);

// The same to tell with the host's facts, so that a plan asks for nothing else;
// the veto is read again when an apply comes.
HostAllows ReadHostAllows(const std::string& config);

}  // namespace clusterd

#endif  // DAEMON_AGENT_HOST_VETO_H_
