// Reads this machine's identity, installed versions and memory: its size, the
// limits of jobs' slices and of each container and Slurm job in them, and the
// processes that the kernel killed for lack of it:
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

// Reads names from /proc/sys/kernel, /etc/machine-id and /etc/os-release,
// uname's architecture, and the NPU series from PCI ids of
// /sys/bus/pci/devices.
IdentityFacts ReadIdentity(const FileReader& files);

// Reads the id that the kernel generates at each boot.
TextFact ReadBootId(const FileReader& files);

// Reads driver and firmware from their version.info below the driver's install
// path, and from the driver's file its required firmware, ABSENT where it has
// none. CANN is from ascend_toolkit_install.info there; ABSENT where it is in
// containers, or elsewhere.
VersionFacts ReadVersions(const FileReader& files);

// Reads /etc/hccn.conf. ABSENT; NOT_PERMITTED; UNREADABLE for a directory or a
// file that is not the tool's. Never returns a half-written file; a process
// that holds the file's lock for long does not prevent reading.
HccnConfFact ReadHccnConf(const FileReader& files, Clock* clock);

// Returns the file's text and mode, read likewise, for a query that would write
// to it. The codes of FileReader::ReadShared.
absl::StatusOr<PrivateFile> CopyHccnConf(const FileReader& files, Clock* clock);

// Returns the first line of /etc/clusterd/simulation; "" on a real host.
std::string ReadSimulation(const FileReader& files);

// Returns the kernel's log, oldest line first, from dmesg. Where systemd blocks
// that for this daemon (ProtectKernelLogs), journalctl is used, whose lines
// name the host: "[86400.123456] node07 kernel: Out of memory: …". If both
// fail, the error is that of dmesg.
absl::StatusOr<std::string> ReadKernelLog(const HostAccess& host,
                                          bool errors_only);

// Returns the killed processes in such a log, at most 16, newest first. Users
// choose their names, so these are made printable, and only lines that begin
// with the kernel's words count.
std::vector<OutOfMemory> ParseKills(absl::string_view dmesg, uint64_t uptime_s);

// Counts a slice's limit if it is below the machine's total.
HostMemoryFact ReadHostMemory(const HostAccess& host);

}  // namespace clusterd

#endif  // DAEMON_HOST_IDENTITY_OBSERVER_H_
