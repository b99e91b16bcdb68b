// What sysctl.d would set at the next boot, by systemd-sysctl's rules:
//   # comment            ; comment
//   net.core.somaxconn = 65535
//   -net/ipv4/tcp_max_syn_backlog=65535     errors are ignored
//   net.ipv4.*_reserved_ports = 60000-60015 a pattern
//   -net.core.somaxconn                     patterns do not apply to this key
// Files come from several directories: one in an earlier directory hides the
// one of the same name in a later; all others apply in the order of their
// names; the last assignment of a key wins, and an assignment by name always
// wins over patterns (sysctl.d(5), systemd 252). Text in, value out: opens
// nothing.
#ifndef DAEMON_HOST_KERNEL_SYSCTL_CONF_H_
#define DAEMON_HOST_KERNEL_SYSCTL_CONF_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "proto/facts.pb.h"

namespace clusterd {

// In order of precedence.
inline constexpr absl::string_view kSysctlDirectories[] = {
    "/etc/sysctl.d", "/run/sysctl.d", "/usr/local/lib/sysctl.d",
    "/usr/lib/sysctl.d"};

struct SysctlFile {
  std::string directory;
  std::string name;
  // Empty also for a mask: a link to /dev/null.
  std::string text;
};

// The files that apply, in the order of application. `files` must be sorted by
// the precedence of their directories. Names that do not end in ".conf" are
// left out.
std::vector<SysctlFile> OrderSysctlFiles(std::vector<SysctlFile> files);

// Every assignment of `key` that takes effect or is overwritten by a later one,
// the winner last. `ordered` comes from OrderSysctlFiles; `key` is dotted, e.g.
// "net.core.somaxconn". Lines that are no assignment are skipped, as systemd
// does. Values are as written, without blanks around, printable.
PersistentValue FindSysctlAssignments(const std::vector<SysctlFile>& ordered,
                                      absl::string_view key);

}  // namespace clusterd

#endif  // DAEMON_HOST_KERNEL_SYSCTL_CONF_H_
