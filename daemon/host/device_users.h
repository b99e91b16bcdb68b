// Which processes use an NPU now: those that hold its node /dev/davinci<N>
// open. That is how the vendor's own manual finds them (hicann/driver, DCMI API
// reference, FAQ "Querying NPU Service Processes": `fuser -uv /dev/davinci* …`,
// no output meaning that no service process runs), and <N> is the physical id
// that `hccn_tool -i` takes.
// Not the process list of `npu-smi info`: it is cut after a number of processes
// for each chip, counts NPUs otherwise, and whether it shows those of other
// containers is not known.
#ifndef DAEMON_HOST_DEVICE_USERS_H_
#define DAEMON_HOST_DEVICE_USERS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "daemon/host/command/clock.h"
#include "daemon/host/files/file_reader.h"
#include "proto/facts.pb.h"

namespace clusterd {

struct DeviceUser {
  uint32_t device = 0;
  uint32_t pid = 0;
  std::string command;  // Its short name; printable.
  uint32_t parent = 0;  // 0: not known.
};

// Sorted by device and process. `self` and the processes that it started do not
// count: they are this daemon and its hccn_tool. Nodes are those below the
// root; processes are always this machine's. A process of a container counts
// if its node is the same device, whatever its name there.
// FailedPrecondition: there is no such node, or this process sees only the
// processes of its own container. PermissionDenied: a process may not be looked
// into. DeadlineExceeded: `budget` was spent first; null: it takes its time.
// The codes of FileReader::List for /proc. Of a simulated server
// (identity_observer.h), or below another root than "/", what may not be looked
// into does not count.
absl::StatusOr<std::vector<DeviceUser>> ReadDeviceUsers(
    const HostPaths& paths, uint32_t self, const TimeBudget* budget = nullptr);

// The same by process, in the order of pids. NOT_SUPPORTED where no node is
// there, or clusterd sees only the processes of its own container.
NpuProcessesFact ReadNpuProcesses(const HostPaths& paths,
                                  const TimeBudget& budget);

}  // namespace clusterd

#endif  // DAEMON_HOST_DEVICE_USERS_H_
