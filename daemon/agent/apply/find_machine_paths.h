// Where the programs that change this machine are, found as the observation
// finds them.
#ifndef DAEMON_AGENT_APPLY_FIND_MACHINE_PATHS_H_
#define DAEMON_AGENT_APPLY_FIND_MACHINE_PATHS_H_

#include "daemon/agent/apply/machine.h"
#include "daemon/host/host_observer.h"

namespace clusterd {

// Programs are full paths below the root, also those that are not there: never
// those of the machine outside. One that others than root could have changed
// (program_path.h) is left empty, which no runner runs. Files are paths for a
// FileSystem of the same root.
MachinePaths FindMachinePaths(const HostPaths& host);

}  // namespace clusterd

#endif  // DAEMON_AGENT_APPLY_FIND_MACHINE_PATHS_H_
