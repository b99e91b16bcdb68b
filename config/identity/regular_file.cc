#include "config/identity/regular_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"

namespace clusterd {
absl::StatusOr<std::string> ReadRegularFile(const std::string& path,
                                            size_t max_bytes, mode_t* mode) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return FileStatus(path, errno);
  const auto closes = absl::MakeCleanup([fd] { close(fd); });
  struct stat info = {};
  if (fstat(fd, &info) != 0) return FileStatus(path, errno);
  if (!S_ISREG(info.st_mode)) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": not a regular file"));
  }
  if (mode != nullptr) *mode = info.st_mode;
  return ReadToEnd(fd, path, max_bytes);
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

}  // namespace clusterd
