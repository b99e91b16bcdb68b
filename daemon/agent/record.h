// `clusterd --record FILE`: one look at this host, with every run of hccn_tool
// written down without the site's addresses and names, to be sent to us.
#ifndef DAEMON_AGENT_RECORD_H_
#define DAEMON_AGENT_RECORD_H_

#include <ostream>
#include <string>

#include "daemon/host/clock.h"
#include "daemon/host/command_runner.h"

namespace clusterd {

// Observes the machine below `root` and writes the runs to `path`, which must
// not exist yet. Says on `out` what was written, on `err` what went wrong.
// Returns the exit status: 0 written, 1 not written, 2 written although no
// device answered (there was no run of the tool).
int RecordHost(const std::string& path, const std::string& root,
               CommandRunner* runner, Clock* clock, std::ostream* out,
               std::ostream* err);

}  // namespace clusterd

#endif  // DAEMON_AGENT_RECORD_H_
