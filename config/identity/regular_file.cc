#include "config/identity/regular_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "config/values/owned_fd.h"
#include "config/values/status_macros.h"

namespace clusterd {
namespace {

absl::StatusOr<std::string> ReadFile(const std::string& path, size_t max_bytes,
                                     mode_t forbidden, const char* expected) {
  const OwnedFd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat info = {};
  if (fd.get() < 0 || fstat(fd.get(), &info) != 0) {
    return FileStatus(path, errno);
  }
  if (!S_ISREG(info.st_mode)) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": not a regular file"));
  }
  ASSIGN_OR_RETURN(std::string text, ReadToEnd(fd.get(), path, max_bytes));
  if ((info.st_mode & forbidden) == 0) return text;
  return absl::PermissionDeniedError(absl::StrCat(
      path, ": others have access to the private key (mode ",
      absl::StrFormat("%04o", info.st_mode & 07777), "), expected ", expected));
}

}  // namespace

absl::StatusOr<std::string> ReadRegularFile(const std::string& path,
                                            size_t max_bytes) {
  return ReadFile(path, max_bytes, 0, "");
}

absl::StatusOr<std::string> ReadKeyFile(const std::string& path,
                                        mode_t forbidden,
                                        const char* expected) {
  return ReadFile(path, kMaxPemBytes, forbidden, expected);
}

absl::StatusOr<std::string> ReadToEnd(int fd, const std::string& path,
                                      size_t max_bytes) {
  std::string text;
  char buffer[65536];
  for (;;) {
    const ssize_t count = read(fd, buffer, sizeof(buffer));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return FileStatus(path, errno);
    if (count == 0) return text;
    text.append(buffer, static_cast<size_t>(count));
    if (text.size() > max_bytes) {
      return absl::InvalidArgumentError(
          absl::StrCat(path, ": over ", max_bytes, " bytes"));
    }
  }
}

absl::Status FileStatus(const std::string& path, int error) {
  const std::string message = absl::StrCat(path, ": ", std::strerror(error));
  if (error == ENOENT || error == ENOTDIR) return absl::NotFoundError(message);
  return absl::PermissionDeniedError(message);
}

absl::Status InFile(const std::string& path, const absl::Status& status) {
  return absl::Status(status.code(),
                      absl::StrCat(path, ": ", status.message()));
}

}  // namespace clusterd
