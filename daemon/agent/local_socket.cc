#include "daemon/agent/local_socket.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace clusterd {
namespace {

absl::Status SystemError(const std::string& path, int error) {
  const std::string message = absl::StrCat(path, ": ", std::strerror(error));
  if (error == ENOENT || error == ENOTDIR) return absl::NotFoundError(message);
  return absl::PermissionDeniedError(message);
}

absl::Status CheckPath(const std::string& path) {
  // gRPC reads "%" in an address as the start of an escape.
  if (path.empty() || path[0] != '/' || path.back() == '/' ||
      path.find('%') != std::string::npos ||
      path.size() >= sizeof(sockaddr_un::sun_path)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "socket \"", path, "\": expected an absolute path of under ",
        sizeof(sockaddr_un::sun_path), " bytes without \"%\""));
  }
  return absl::OkStatus();
}

// REQUIRES: the lock is held, so no living daemon uses the socket.
absl::Status RemoveStale(const std::string& path) {
  struct stat info = {};
  if (lstat(path.c_str(), &info) != 0) {
    return errno == ENOENT ? absl::OkStatus() : SystemError(path, errno);
  }
  if (!S_ISSOCK(info.st_mode)) {
    return absl::FailedPreconditionError(
        absl::StrCat(path,
                     ": is there and is no socket, expected nothing or "
                     "the socket of a clusterd before"));
  }
  return unlink(path.c_str()) == 0 ? absl::OkStatus()
                                   : SystemError(path, errno);
}

}  // namespace

absl::StatusOr<std::unique_ptr<LocalSocket>> LocalSocket::Claim(
    const std::string& path) {
  const absl::Status valid = CheckPath(path);
  if (!valid.ok()) return valid;
  const std::string lock_path = absl::StrCat(path, ".lock");
  const int fd =
      open(lock_path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (fd < 0) return SystemError(lock_path, errno);
  if (flock(fd, LOCK_EX | LOCK_NB) != 0) {
    const int error = errno;
    close(fd);
    if (error != EWOULDBLOCK) return SystemError(lock_path, error);
    return absl::FailedPreconditionError(
        absl::StrCat(lock_path, ": another clusterd holds it"));
  }
  const absl::Status removed = RemoveStale(path);
  if (!removed.ok()) {
    close(fd);
    return removed;
  }
  return std::unique_ptr<LocalSocket>(new LocalSocket(path, fd));
}

LocalSocket::~LocalSocket() {
  RemoveStale(path_).IgnoreError();
  close(lock_fd_);
}

absl::Status LocalSocket::SetMode() const {
  return chmod(path_.c_str(), 0660) == 0 ? absl::OkStatus()
                                         : SystemError(path_, errno);
}

RestrictedUmask::RestrictedUmask() : before_(umask(0117)) {}

RestrictedUmask::~RestrictedUmask() { umask(before_); }

}  // namespace clusterd
