// Tells scripts which port a server that was told to take any has taken.
#ifndef DAEMON_CONTROLLER_PORT_FILE_H_
#define DAEMON_CONTROLLER_PORT_FILE_H_

#include <string>

#include "absl/status/status.h"

namespace clusterd {

// Writes the number and a newline. Whoever sees the file sees all of it.
// PermissionDenied, naming the file, if it cannot be written.
absl::Status WritePortFile(const std::string& path, int port);

}  // namespace clusterd

#endif  // DAEMON_CONTROLLER_PORT_FILE_H_
