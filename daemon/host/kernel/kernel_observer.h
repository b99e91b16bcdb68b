// The kernel parameters that HCCL's start-up needs: as they are now, in which
// network namespace, and as sysctl.d would set them at the next boot.
#ifndef DAEMON_HOST_KERNEL_KERNEL_OBSERVER_H_
#define DAEMON_HOST_KERNEL_KERNEL_OBSERVER_H_

#include "absl/status/statusor.h"
#include "daemon/host/files/file_reader.h"
#include "daemon/host/namespace/network_namespace.h"
#include "proto/facts.pb.h"

namespace clusterd {

// Reads /proc/sys/net, /proc/*/ns/net and the directories of sysctl.d(5). A
// parameter that the kernel does not have in this namespace is ABSENT. If one
// of the files cannot be read, nothing is known about the next boot.
// proc_sys_writable is about /proc/sys/net as this process sees it, and the
// cookie is that of the calling thread's namespace.
KernelFacts ReadKernel(const FileReader& files);

// The same in another network namespace: initial_namespace is true if it is the
// one of process 1, as with `docker run --network=host`. A parameter that the
// kernel keeps for the host alone is ABSENT and says so. The next boot is
// NOT_QUERIED: sysctl.d is applied to the host's own namespace only (systemd,
// sysctl.d(5)). The codes of OpenNetworkNamespace::Run.
absl::StatusOr<KernelFacts> ReadKernelIn(const OpenNetworkNamespace& opened,
                                         const FileReader& files);

}  // namespace clusterd

#endif  // DAEMON_HOST_KERNEL_KERNEL_OBSERVER_H_
