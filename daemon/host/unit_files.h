// Whether systemd would start a service at boot, from its files alone: works
// without a running systemd, and for a machine below a root folder.
#ifndef DAEMON_HOST_UNIT_FILES_H_
#define DAEMON_HOST_UNIT_FILES_H_

#include <string>

#include "absl/status/statusor.h"
#include "daemon/host/file_reader.h"

namespace clusterd {

// True if a target's .wants or .requires folder links to `unit`, e.g.
// "firewalld.service", and the unit exists and is not masked. NotFound if there
// is no systemd folder at all; the codes of FileReader::List.
absl::StatusOr<bool> ReadUnitEnabled(const FileReader& files,
                                     const std::string& unit);

}  // namespace clusterd

#endif  // DAEMON_HOST_UNIT_FILES_H_
