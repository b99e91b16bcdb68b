// Who owns NPUs by the driver's own table, /proc/uda/namespace_node:
//   ns_id 0 identify 5b0c7e21d9f4 root_tgid 731804 dev_num 1 namespace …, udev
//   list: logic_devid udevid
//          0        3
// The first mount namespace that initialises the driver owns its devices as
// long as it lives, whether a process in it computes or not (driver source,
// uda_ns_node_single_show). Entries from ns_id 128 on are the host's own.
#ifndef DAEMON_HOST_DEVICE_OWNERS_H_
#define DAEMON_HOST_DEVICE_OWNERS_H_

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "daemon/host/files/file_reader.h"
#include "proto/facts.pb.h"

namespace clusterd {

// Pid, identity and devices of each entry that is not the host's.
// InvalidArgument, quoting the line, for another form or a list that was cut.
absl::StatusOr<DeviceOwnersFact::Owners> ParseNamespaceNode(
    absl::string_view text);

// The same with what the processes are; `users` are those that have an NPU
// open. NOT_SUPPORTED where the driver has no such file.
DeviceOwnersFact ReadDeviceOwners(const FileReader& files,
                                  const NpuProcessesFact& users);

}  // namespace clusterd

#endif  // DAEMON_HOST_DEVICE_OWNERS_H_
