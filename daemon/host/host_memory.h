// Memory of this machine: how much there is, what the slices of jobs, and each
// container and job of Slurm in them, may have of it, and which processes the
// kernel has ended for lack of it:
//   [86400.123456] Out of memory: Killed process 4711 (python3) total-vm:…
//   [86400.123456] Memory cgroup out of memory: Killed process 4711 (python3) …
#ifndef DAEMON_HOST_HOST_MEMORY_H_
#define DAEMON_HOST_HOST_MEMORY_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "daemon/host/files/file_reader.h"
#include "proto/facts.pb.h"

namespace clusterd {

// The kernel's log, its oldest line first: by dmesg, and where systemd keeps
// that from this daemon (ProtectKernelLogs) by journalctl, whose lines name the
// host, "[86400.123456] node07 kernel: Out of memory: …". Why dmesg did not
// answer, if neither does.
absl::StatusOr<std::string> ReadKernelLog(const HostAccess& host,
                                          bool errors_only);

// Processes that such a log names, the newest 16, newest first. Their names are
// whatever their users wrote: they are made printable, and a line counts only
// if the kernel's words begin it.
std::vector<OutOfMemory> ParseKills(absl::string_view dmesg, uint64_t uptime_s);

// A limit of a slice counts if it is under the machine's total.
HostMemoryFact ReadHostMemory(const HostAccess& host);

}  // namespace clusterd

#endif  // DAEMON_HOST_HOST_MEMORY_H_
