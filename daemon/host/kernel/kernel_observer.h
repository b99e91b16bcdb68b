// The kernel parameters that HCCL's start-up needs: as they are now, in which
// network namespace, and as sysctl.d would set them at the next boot.
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

// In order of precedence.
inline constexpr absl::string_view kSysctlDirectories[] = {
    "/etc/sysctl.d", "/run/sysctl.d", "/usr/local/lib/sysctl.d",
    "/usr/lib/sysctl.d"};

// What sysctl.d would set at the next boot, by systemd-sysctl's rules:
//   # comment            ; comment
//   net.core.somaxconn = 65535
//   -net/ipv4/tcp_max_syn_backlog=65535     errors are ignored
//   net.ipv4.*_reserved_ports = 60000-60015 a pattern
//   -net.core.somaxconn                     patterns do not apply to this key
// Files come from several directories: one in an earlier directory hides the
// one of the same name in a later; all others apply in the order of their
// names; the last assignment of a key wins, and an assignment by name always
// wins over patterns (sysctl.d(5), systemd 252).
struct SysctlFile {
  std::string path;
  // Empty also for a mask: a link to /dev/null.
  std::string text;
};
// The files that apply, by name: that is the order of application.
using SysctlFiles = std::map<std::string, SysctlFile>;

// Every assignment of `key` that takes effect or is overwritten by a later one,
// the winner last. `key` is dotted, e.g. "net.core.somaxconn". Lines that are
// no assignment are skipped, as systemd does. Values are as written, without
// blanks around, printable.
PersistentValue FindSysctlAssignments(const SysctlFiles& files,
                                      absl::string_view key);

}  // namespace clusterd

#endif  // DAEMON_HOST_KERNEL_KERNEL_OBSERVER_H_
