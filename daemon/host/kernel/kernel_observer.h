// Reads the kernel parameters that HCCL's start-up needs: running values, their
// network namespace, and the values that sysctl.d sets at the next boot.
#ifndef DAEMON_HOST_KERNEL_KERNEL_OBSERVER_H_
#define DAEMON_HOST_KERNEL_KERNEL_OBSERVER_H_

#include <map>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "daemon/host/files/file_reader.h"
#include "daemon/host/namespace/network_namespace.h"
#include "proto/facts.pb.h"

namespace clusterd {

// Reads /proc/sys/net, /proc/*/ns/net and the directories of sysctl.d(5). A
// parameter that the kernel lacks in this namespace is ABSENT. If one of the
// files is unreadable, the next boot is unknown. proc_sys_writable is about
// /proc/sys/net as this process sees it; the cookie is that of the calling
// thread's namespace.
KernelFacts ReadKernel(const FileReader& files);

// Reads another network namespace: initial_namespace is true if it is that of
// process 1, as with `docker run --network=host`. A parameter that the kernel
// keeps only for the host is ABSENT with that reason. The next boot is
// NOT_QUERIED: sysctl.d applies only to the host's own namespace (systemd,
// sysctl.d(5)). The codes of OpenNetworkNamespace::Run.
absl::StatusOr<KernelFacts> ReadKernelIn(const OpenNetworkNamespace& opened,
                                         const FileReader& files);

// Ordered by precedence.
inline constexpr absl::string_view kSysctlDirectories[] = {
    "/etc/sysctl.d", "/run/sysctl.d", "/usr/local/lib/sysctl.d",
    "/usr/lib/sysctl.d"};

// Assignments of sysctl.d at the next boot, by systemd-sysctl's rules:
//   # comment            ; comment
//   net.core.somaxconn = 65535
//   -net/ipv4/tcp_max_syn_backlog=65535     errors are ignored
//   net.ipv4.*_reserved_ports = 60000-60015 a pattern
//   -net.core.somaxconn                     patterns do not apply to this key
// A file in an earlier directory hides one of the same name in a later. All
// others apply in the order of their names; the last assignment of a key wins,
// and one by name always wins over patterns (sysctl.d(5), systemd 252).
struct SysctlFile {
  std::string path;
  // Empty also for a mask: a link to /dev/null.
  std::string text;
};
// The files that apply, by name, which is the order of application.
using SysctlFiles = std::map<std::string, SysctlFile>;

// Returns every assignment of `key` that takes effect or is overwritten later,
// the winner last. `key` is dotted, e.g. "net.core.somaxconn". Skips other
// lines, as systemd does. Values are printable, as written, without outer
// blanks.
PersistentValue FindSysctlAssignments(const SysctlFiles& files,
                                      absl::string_view key);

}  // namespace clusterd

#endif  // DAEMON_HOST_KERNEL_KERNEL_OBSERVER_H_
