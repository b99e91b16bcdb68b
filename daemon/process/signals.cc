#include "daemon/process/signals.h"

#include <pthread.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"

namespace clusterd {

BlockedSignals::BlockedSignals() {
  sigemptyset(&waited_);
  sigaddset(&waited_, SIGTERM);
  sigaddset(&waited_, SIGINT);
  sigaddset(&waited_, SIGHUP);
  pthread_sigmask(SIG_BLOCK, &waited_, &before_);
  struct sigaction ignore = {};
  ignore.sa_handler = SIG_IGN;
  sigaction(SIGPIPE, &ignore, &pipe_before_);
}

void KeepOutOfCores() {
  // RLIMIT_CORE alone does not apply where a program receives cores (core(5)).
  prctl(PR_SET_DUMPABLE, 0);
}

absl::Status NotifySystemd(const std::string& socket_name,
                           absl::string_view state) {
  if (socket_name.empty()) return absl::OkStatus();
  sockaddr_un address = {};
  if ((socket_name[0] != '/' && socket_name[0] != '@') ||
      socket_name.size() >= sizeof(address.sun_path)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "NOTIFY_SOCKET \"", socket_name, "\": expected a path of under ",
        sizeof(address.sun_path), " bytes, or \"@\" and a name"));
  }
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, socket_name.data(), socket_name.size());
  if (socket_name[0] == '@') address.sun_path[0] = '\0';
  const int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) {
    return absl::UnavailableError(
        absl::StrCat("socket: ", std::strerror(errno)));
  }
  const auto closes = absl::MakeCleanup([fd] { close(fd); });
  const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) +
                                             socket_name.size());
  if (sendto(fd, state.data(), state.size(), MSG_NOSIGNAL,
             reinterpret_cast<const sockaddr*>(&address), length) < 0) {
    return absl::UnavailableError(absl::StrCat("NOTIFY_SOCKET \"", socket_name,
                                               "\": ", std::strerror(errno)));
  }
  return absl::OkStatus();
}

}  // namespace clusterd
