// Who this machine is and what is installed on it, from files.
#ifndef DAEMON_HOST_IDENTITY_OBSERVER_H_
#define DAEMON_HOST_IDENTITY_OBSERVER_H_

#include <string>

#include "absl/status/statusor.h"
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

}  // namespace clusterd

#endif  // DAEMON_HOST_IDENTITY_OBSERVER_H_
