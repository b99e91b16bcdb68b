// Processes of a simulated server that only hold a port or an NPU. They end
// with `namespaces.sh down`, or once the server's folder is removed. Also
// programs of this machine that change a server in its namespaces.
#ifndef TESTS_SIM_FAULT_SIMULATED_PROCESS_H_
#define TESTS_SIM_FAULT_SIMULATED_PROCESS_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "tests/sim/host_folder.h"

namespace clusterd::sim {

// Returns once the process listens on the TCP port of every address; otherwise
// the error of errno.
absl::Status StartListener(const HostFolder& server, int port);

// Returns once the process, which ps shows as `name`, has the device's node
// open; otherwise the error of errno.
absl::Status StartDeviceUser(const HostFolder& server, int device,
                             const std::string& name);

// PATH is searched for argv[0]. FailedPrecondition with the command and its
// output, if it does not end with 0.
absl::Status RunHere(const std::vector<std::string>& argv);

}  // namespace clusterd::sim

#endif  // TESTS_SIM_FAULT_SIMULATED_PROCESS_H_
