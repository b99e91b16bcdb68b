// Which NPUs this machine has. Ids are read, never counted up from 0: a
// container may see a subset, and PCIe cards leave gaps.
#ifndef DAEMON_HOST_DEVICE_IDS_H_
#define DAEMON_HOST_DEVICE_IDS_H_

#include <cstdint>
#include <optional>

#include "absl/strings/string_view.h"
#include "daemon/host/command_runner.h"
#include "daemon/host/host_observer.h"
#include "daemon/host/time_budget.h"
#include "proto/facts.pb.h"

namespace clusterd {

// From the nodes /dev/davinci<N>; if there are none, from `npu-smi info -m`
// where npu-smi is installed. ABSENT if neither names a device.
DeviceIdsFact ReadDeviceIds(const HostPaths& paths, CommandRunner* runner,
                            const TimeBudget& budget);

// 3 for "davinci3", a name in /dev; none for "davinci_manager" and all others.
std::optional<uint32_t> DeviceIdOfNode(absl::string_view name);

}  // namespace clusterd

#endif  // DAEMON_HOST_DEVICE_IDS_H_
