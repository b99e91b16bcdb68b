// `clusterd --record`: one look at this host, with every run of hccn_tool as it
// was, for `clusterctl anonymise`. What is written holds the site's addresses
// and names, so it goes into a pipe and never into a file.
#ifndef DAEMON_AGENT_RECORD_H_
#define DAEMON_AGENT_RECORD_H_

#include <ostream>
#include <string>

#include "daemon/host/command/clock.h"
#include "daemon/host/command/command_runner.h"

namespace clusterd {

// Observes the machine below `root` and writes a HostRecording to `descriptor`,
// a pipe or a socket. Returns the exit status: 0 written; 1 not written, and
// `err` says why.
int RecordHost(int descriptor, const std::string& root, CommandRunner* runner,
               Clock* clock, std::ostream* err);

}  // namespace clusterd

#endif  // DAEMON_AGENT_RECORD_H_
