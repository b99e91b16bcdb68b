#include "config/identity/regular_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "absl/strings/str_format.h"
#include "config/values/owned_fd.h"
#include "config/values/status_macros.h"
#include "config/words/message.h"

namespace clusterd {
absl::StatusOr<std::string> ReadRegularFile(const std::string& path,
                                            size_t max_bytes, mode_t forbidden,
                                            const char* expected) {
  const OwnedFd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat info = {};
  if (fd.get() < 0 || fstat(fd.get(), &info) != 0) {
    return FileStatus(path, errno);
  }
  if (!S_ISREG(info.st_mode)) {
    return InvalidWords("msg-trust-not-regular", path);
  }
  ASSIGN_OR_RETURN(std::string text, ReadToEnd(fd.get(), path, max_bytes));
  if ((info.st_mode & forbidden) == 0) return text;
  return DeniedWords("msg-trust-key-open", path,
                     absl::StrFormat("%04o", info.st_mode & 07777), expected);
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
      return InvalidWords("msg-trust-file-too-long", path, max_bytes);
    }
  }
}

absl::Status FileStatus(const std::string& path, int error) {
  const FindingValue words =
      Worded("msg-trust-file-failed", path, Term(std::strerror(error)));
  return WithWords(error == ENOENT || error == ENOTDIR
                       ? absl::NotFoundError("")
                       : absl::PermissionDeniedError(""),
                   words);
}

absl::Status WriteStatus(const std::string& path, int error) {
  if (error != ENOSPC && error != EDQUOT) return FileStatus(path, error);
  return ExhaustedWords("msg-trust-disk-full", path,
                        Term(std::strerror(error)));
}

absl::Status SyncFolder(const std::string& folder) {
  return SyncFolderOf(folder + "/") ? absl::OkStatus()
                                    : WriteStatus(folder, errno);
}

absl::Status WriteWholeFile(const std::string& path, absl::string_view text,
                            mode_t mode) {
  const OwnedFd fd(
      open(path.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, mode));
  const bool is_done = fd.get() >= 0 && WriteAll(fd.get(), text) &&
                       fchmod(fd.get(), mode) == 0 && fsync(fd.get()) == 0;
  return is_done ? absl::OkStatus() : WriteStatus(path, errno);
}

absl::Status ReplaceFile(const std::string& path, absl::string_view text,
                         mode_t mode) {
  const std::string beside = absl::StrCat(path, ".new");
  std::remove(beside.c_str());
  absl::Status done = WriteWholeFile(beside, text, mode);
  if (done.ok() && std::rename(beside.c_str(), path.c_str()) != 0) {
    done = WriteStatus(path, errno);
  }
  if (!done.ok()) {
    std::remove(beside.c_str());
    return done;
  }
  return SyncFolderOf(path) ? absl::OkStatus() : WriteStatus(path, errno);
}

}  // namespace clusterd
