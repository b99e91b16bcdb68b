// The text of our own file under /etc/sysctl.d:
//   # Written by clusterd. Lines that clusterd does not set are kept.
//   net.core.somaxconn = 65535
// and the kernel parameters that clusterd sets at all.
#ifndef CONFIG_PLAN_SYSCTL_FILE_H_
#define CONFIG_PLAN_SYSCTL_FILE_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace clusterd {

inline constexpr char kReservedPortsKey[] = "net.ipv4.ip_local_reserved_ports";
inline constexpr char kSomaxconnKey[] = "net.core.somaxconn";
inline constexpr char kSynBacklogKey[] = "net.ipv4.tcp_max_syn_backlog";

// sysctl.d(5) applies files in the order of their names, whatever their folder,
// and the last assignment wins. 90 comes after what distributions ship (10- to
// 60-) and before 99-sysctl.conf, the link to /etc/sysctl.conf: what the
// administrator wrote there keeps the last word, and a plan names it when it is
// in the way. Nothing is overruled behind anybody's back.
inline constexpr char kSysctlFile[] = "/etc/sysctl.d/90-clusterd.conf";

// Whether clusterd may set this kernel parameter.
bool IsOurSysctlKey(absl::string_view key);

// The spelling that is written to the kernel and to files: decimal numbers
// without leading zeros (the kernel reads 060000 as octal), port lists sorted
// and merged. InvalidArgument, naming key and value, if it is not a value that
// clusterd sets: a number from 1 to 2147483647, ports up to 65535.
absl::StatusOr<std::string> CanonicalSysctlValue(absl::string_view key,
                                                 absl::string_view value);

// `text` with this assignment and every other line as it was. The first line
// that sets the key is replaced, further ones go; if no line sets it, one is
// appended. Empty text gets a heading.
std::string EditSysctlFile(absl::string_view text, absl::string_view key,
                           absl::string_view value);

}  // namespace clusterd

#endif  // CONFIG_PLAN_SYSCTL_FILE_H_
