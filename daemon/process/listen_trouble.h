// Why nobody can listen on an address, which gRPC 1.51 does not tell.
#ifndef DAEMON_PROCESS_LISTEN_TROUBLE_H_
#define DAEMON_PROCESS_LISTEN_TROUBLE_H_

#include <string>

#include "absl/status/status.h"

namespace clusterd {

// Unavailable, with the system's own answer to another try; `option` names the
// address, ADDRESS:PORT.
absl::Status CannotListen(const std::string& listen, const char* option);

}  // namespace clusterd

#endif  // DAEMON_PROCESS_LISTEN_TROUBLE_H_
