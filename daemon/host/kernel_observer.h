// The kernel parameters that HCCL's start-up needs: as they are now, in which
// network namespace, and as sysctl.d would set them at the next boot.
#ifndef DAEMON_HOST_KERNEL_OBSERVER_H_
#define DAEMON_HOST_KERNEL_OBSERVER_H_

#include "daemon/host/file_reader.h"
#include "proto/facts.pb.h"

namespace clusterd {

// Reads /proc/sys/net, /proc/*/ns/net and the directories of sysctl.d(5). A
// parameter that the kernel does not have in this namespace is ABSENT. If one
// of the files cannot be read, nothing is known about the next boot.
KernelFacts ReadKernel(const FileReader& files);

}  // namespace clusterd

#endif  // DAEMON_HOST_KERNEL_OBSERVER_H_
