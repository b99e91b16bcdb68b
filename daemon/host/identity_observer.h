// Who this machine is, what is installed on it, and its memory: how much there
// is, what the slices of jobs, and each container and job of Slurm in them, may
// have of it, and which processes the kernel has ended for lack of it:
//   [86400.123456] Out of memory: Killed process 4711 (python3) total-vm:…
//   [86400.123456] Memory cgroup out of memory: Killed process 4711 (python3) …
#ifndef DAEMON_HOST_IDENTITY_OBSERVER_H_
#define DAEMON_HOST_IDENTITY_OBSERVER_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "daemon/host/command/command_runner.h"
#include "daemon/host/files/file_reader.h"
#include "proto/facts.pb.h"

namespace clusterd {

// Names from /proc/sys/kernel, /etc/machine-id and /etc/os-release, the
// architecture from uname, the NPU series from the PCI ids under
// /sys/bus/pci/devices.
IdentityFacts ReadIdentity(const FileReader& files);

// What every boot of this machine's kernel has anew.
TextFact ReadBootId(const FileReader& files);

// Driver and firmware from their version.info below the driver's install path,
// the firmware that the driver goes with from the same file, ABSENT where it
// does not tell, CANN from ascend_toolkit_install.info there; ABSENT where it
// lives in containers, or elsewhere.
VersionFacts ReadVersions(const FileReader& files);

// /etc/hccn.conf. ABSENT; NOT_PERMITTED; UNREADABLE for a directory or a file
// that is not the tool's. Never half of what the tool writes; who holds the
// file's lock for long keeps nobody from reading.
HccnConfFact ReadHccnConf(const FileReader& files, Clock* clock);

// The file's text and mode, read likewise, for a question that would write to
// it. The codes of FileReader::ReadShared.
absl::StatusOr<PrivateFile> CopyHccnConf(const FileReader& files, Clock* clock);

// The first line of /etc/clusterd/simulation; "" on a real host.
std::string ReadSimulation(const FileReader& files);

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

#endif  // DAEMON_HOST_IDENTITY_OBSERVER_H_
