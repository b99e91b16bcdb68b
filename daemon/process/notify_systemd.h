// Tells systemd how a service of Type=notify is doing, as sd_notify(3)
// documents: one datagram such as "READY=1" to the socket in $NOTIFY_SOCKET.
#ifndef DAEMON_PROCESS_NOTIFY_SYSTEMD_H_
#define DAEMON_PROCESS_NOTIFY_SYSTEMD_H_

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace clusterd {

// `socket` is the variable's value: a path, "@" before an abstract name, or
// empty when nobody listens, which is fine. InvalidArgument if it is anything
// else or too long; Unavailable if it does not take the message.
absl::Status NotifySystemd(const std::string& socket, absl::string_view state);

}  // namespace clusterd

#endif  // DAEMON_PROCESS_NOTIFY_SYSTEMD_H_
