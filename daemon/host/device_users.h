// Finds the processes that use an NPU now, and those that own it. Users hold
// its node /dev/davinci<N> open. The vendor's manual finds them the same way
// (hicann/driver, DCMI API reference, FAQ "Querying NPU Service Processes":
// `fuser -uv /dev/davinci* …`, no output: no service process runs). <N> is the
// physical id that `hccn_tool -i` takes. The list of `npu-smi info` is
// truncated for each chip and counts NPUs otherwise; whether it shows those of
// other containers is not known. The driver lists owners in
// /proc/uda/namespace_node:
//   ns_id 0 identify 5b0c7e21d9f4 root_tgid 731804 dev_num 1 namespace …, udev
//   list: logic_devid udevid
//          0        3
// The first mount namespace that initialises the driver owns its devices while
// it lives, whether a process in it computes or not (driver source,
// uda_ns_node_single_show). Entries from ns_id 128 on are the host's own.
#ifndef DAEMON_HOST_DEVICE_USERS_H_
#define DAEMON_HOST_DEVICE_USERS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
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
// root; processes are always this machine's. A process of a container counts if
// its node is the same device, under any name. FailedPrecondition: no such node
// exists, or this process sees only its own container's processes.
// PermissionDenied: a process may not be inspected. DeadlineExceeded, naming
// the user with most open files: `budget`, or five seconds of it, was spent.
// The codes of FileReader::List for /proc. For a simulated server
// (identity_observer.h), or another root than "/", processes that may not be
// inspected do not count.
absl::StatusOr<std::vector<DeviceUser>> ReadDeviceUsers(
    const HostPaths& paths, uint32_t self, const TimeBudget& budget);

// Returns the same by process, in the order of pids. NOT_SUPPORTED where no
// node exists, or clusterd sees only its own container's processes. NOT_QUERIED
// for an asker who changes the host: users determine how long it takes.
NpuProcessesFact ReadNpuProcesses(const HostPaths& paths,
                                  const TimeBudget& budget);

// Returns pid, identity and devices of each entry that is not the host's.
// InvalidArgument, quoting the line, for another form or a truncated list.
absl::StatusOr<DeviceOwnersFact::Owners> ParseNamespaceNode(
    absl::string_view text);

// Adds process data to these; `users` are those that have an NPU open.
// NOT_SUPPORTED where the driver has no such file.
DeviceOwnersFact ReadDeviceOwners(const FileReader& files,
                                  const NpuProcessesFact& users);

}  // namespace clusterd

#endif  // DAEMON_HOST_DEVICE_USERS_H_
