#include "daemon/agent/local/local_listener.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

namespace clusterd {
namespace {

constexpr int kWaitingConnections = 512;
// When the process is out of descriptors: they come back as calls end.
constexpr int kOutOfDescriptorsMs = 100;

absl::Status CannotListen(const std::string& path) {
  return absl::UnavailableError(absl::StrCat("cannot listen on socket ", path,
                                             ": ", std::strerror(errno)));
}

bool Bind(int fd, const std::string& path) {
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof(address.sun_path) - 1);
  // Protects the socket until it has its permission.
  const mode_t before = umask(0117);
  const int bound =
      bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address));
  umask(before);
  // Whatever stands there now: a link is not followed.
  return bound == 0 &&
         fchmodat(AT_FDCWD, path.c_str(), 0660, AT_SYMLINK_NOFOLLOW) == 0;
}

}  // namespace

absl::StatusOr<std::unique_ptr<LocalListener>> LocalListener::Listen(
    const std::string& path) {
  const int listening =
      socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (listening < 0) return CannotListen(path);
  const int stop = eventfd(0, EFD_CLOEXEC);
  std::unique_ptr<LocalListener> listener(new LocalListener(listening, stop));
  if (stop < 0 || !Bind(listening, path) ||
      listen(listening, kWaitingConnections) != 0) {
    return CannotListen(path);
  }
  return listener;
}

void LocalListener::Stop() {
  const uint64_t one = 1;
  if (stop_ >= 0) (void)!write(stop_, &one, sizeof(one));
  if (thread_.joinable()) thread_.join();
}

LocalListener::~LocalListener() {
  Stop();
  close(listening_);
  if (stop_ >= 0) close(stop_);
}

void LocalListener::Start(std::function<void(int connection)> take) {
  thread_ = std::thread([this, take = std::move(take)] {
    while (true) {
      pollfd ready[] = {{listening_, POLLIN, 0}, {stop_, POLLIN, 0}};
      if (poll(ready, 2, -1) < 0) continue;
      if (ready[1].revents != 0) return;
      Accept(take);
    }
  });
}

void LocalListener::Accept(const std::function<void(int connection)>& take) {
  const int fd =
      accept4(listening_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
  if (fd < 0) {
    pollfd stop = {stop_, POLLIN, 0};
    if (errno == EMFILE || errno == ENFILE) {
      poll(&stop, 1, kOutOfDescriptorsMs);
    }
    return;
  }
  ucred caller = {};
  socklen_t size = sizeof(caller);
  if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &caller, &size) != 0) {
    close(fd);
    return;
  }
  {
    absl::MutexLock lock(&mutex_);
    callers_[fd] = caller;
  }
  take(fd);
}

std::string LocalListener::Who(absl::string_view peer) const {
  int fd = -1;
  if (!absl::ConsumePrefix(&peer, "fd:") || !absl::SimpleAtoi(peer, &fd)) {
    return "unknown";
  }
  absl::MutexLock lock(&mutex_);
  const auto found = callers_.find(fd);
  if (found == callers_.end()) return "unknown";
  return absl::StrCat("uid ", found->second.uid, " gid ", found->second.gid,
                      " pid ", found->second.pid);
}

}  // namespace clusterd
