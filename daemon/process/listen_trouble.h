// Errors of addresses that a daemon cannot listen on.
#ifndef DAEMON_PROCESS_LISTEN_TROUBLE_H_
#define DAEMON_PROCESS_LISTEN_TROUBLE_H_

#include <cerrno>
#include <cstring>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace clusterd {

// Unavailable; `option` names the address, ADDRESS:PORT.
inline absl::Status CannotListen(absl::string_view listen, const char* option,
                                 absl::string_view why) {
  return absl::UnavailableError(absl::StrCat(
      "cannot listen on \"", listen, "\": ", why,
      ", expected a free ADDRESS:PORT of this machine (", option, ")"));
}

// The same for a system error, an errno.
inline absl::Status CannotListen(absl::string_view listen, const char* option,
                                 int error) {
  const std::string in_use = absl::StrCat(
      "another program listens there already; `ss -ltnp 'sport = :",
      listen.substr(listen.rfind(':') + 1), "'` names it");
  return CannotListen(listen, option,
                      error == EADDRINUSE ? in_use : std::strerror(error));
}

}  // namespace clusterd

#endif  // DAEMON_PROCESS_LISTEN_TROUBLE_H_
