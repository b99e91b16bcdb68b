#include "daemon/controller/history/folder_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"

namespace clusterd {

FolderLock::FolderLock(std::string folder, int fd)
    : folder_(std::move(folder)), fd_(fd) {}

FolderLock::~FolderLock() { close(fd_); }

absl::StatusOr<std::unique_ptr<FolderLock>> FolderLock::Take(
    const std::string& folder) {
  const int fd = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0 && (errno == ENOENT || errno == ENOTDIR)) {
    return absl::NotFoundError(
        absl::StrCat("state folder \"", folder, "\": ", std::strerror(errno),
                     ", expected a folder of the controller's user (--state)"));
  }
  if (fd < 0) {
    return absl::PermissionDeniedError(
        absl::StrCat("state folder \"", folder, "\": ", std::strerror(errno)));
  }
  std::unique_ptr<FolderLock> lock(new FolderLock(folder, fd));
  if (flock(fd, LOCK_EX | LOCK_NB) == 0) return lock;
  if (errno != EWOULDBLOCK) {
    return absl::PermissionDeniedError(
        absl::StrCat("state folder \"", folder,
                     "\": cannot be locked: ", std::strerror(errno)));
  }
  return absl::UnavailableError(
      absl::StrCat("state folder \"", folder,
                   "\": in use by another clusterd-controller, expected one "
                   "controller for one folder (--state)"));
}

absl::Status FolderLock::Sync() {
  if (fsync(fd_) == 0) return absl::OkStatus();
  return absl::UnavailableError(
      absl::StrCat("state folder \"", folder_, "\": ", std::strerror(errno)));
}

}  // namespace clusterd
