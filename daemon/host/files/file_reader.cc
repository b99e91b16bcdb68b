#include "daemon/host/files/file_reader.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "config/values/status_macros.h"

namespace clusterd {
namespace {

constexpr size_t kMaxLineBytes = 64 << 10;
constexpr size_t kMaxNames = 100000;

absl::Status ErrnoStatus(absl::string_view path, int error) {
  const std::string message = absl::StrCat(path, ": ", strerror(error));
  switch (error) {
    case ENOENT:
    case ENOTDIR:
    case ENODEV:
    case ENXIO:
    case ESRCH:
      return absl::NotFoundError(message);
    case EACCES:
    case EPERM:
      return absl::PermissionDeniedError(message);
    case EISDIR:
    case ELOOP:
    case ENAMETOOLONG:
      return absl::FailedPreconditionError(message);
    default:
      return absl::UnavailableError(message);
  }
}

std::string WithoutFinalSlash(std::string path) {
  while (!path.empty() && path.back() == '/') path.pop_back();
  return path;
}

class OpenFile {
 public:
  explicit OpenFile(int fd) : fd_(fd) {}
  ~OpenFile() { close(fd_); }
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;

  // Bytes read, 0 at the end, or -1 with errno.
  ssize_t Read(char* buffer, size_t size) {
    ssize_t got;
    do {
      got = read(fd_, buffer, size);
    } while (got < 0 && errno == EINTR);
    return got;
  }

 private:
  const int fd_;
};

}  // namespace

FileReader::FileReader(std::string root)
    : root_(WithoutFinalSlash(std::move(root))) {}

std::string FileReader::Resolve(absl::string_view path) const {
  return absl::StrCat(root_, path);
}

absl::StatusOr<FileText> FileReader::Read(absl::string_view path,
                                          size_t max_bytes) const {
  FileText file;
  ASSIGN_OR_RETURN(const int fd, OpenRegularFile(path, &file.mode));
  OpenFile open_file(fd);
  char buffer[16384];
  while (true) {
    const ssize_t got = open_file.Read(buffer, sizeof(buffer));
    if (got < 0) return ErrnoStatus(path, errno);
    if (got == 0) return file;
    if (file.text.size() + got > max_bytes) {
      return absl::ResourceExhaustedError(
          absl::StrCat(path, ": over ", max_bytes, " bytes"));
    }
    file.text.append(buffer, got);
  }
}

absl::StatusOr<std::string> FileReader::ReadTrimmed(
    absl::string_view path) const {
  ASSIGN_OR_RETURN(FileText file, Read(path));
  return std::string(absl::StripAsciiWhitespace(file.text));
}

absl::Status FileReader::ReadLines(
    absl::string_view path,
    const std::function<bool(absl::string_view)>& visit) const {
  uint32_t mode = 0;
  ASSIGN_OR_RETURN(const int fd, OpenRegularFile(path, &mode));
  OpenFile open_file(fd);
  std::string pending;
  char buffer[65536];
  while (true) {
    const ssize_t got = open_file.Read(buffer, sizeof(buffer));
    if (got < 0) return ErrnoStatus(path, errno);
    if (got == 0) break;
    pending.append(buffer, got);
    size_t begin = 0;
    for (size_t end; (end = pending.find('\n', begin)) != std::string::npos;
         begin = end + 1) {
      const absl::string_view line(pending.data() + begin, end - begin);
      if (!visit(line)) return absl::OkStatus();
    }
    pending.erase(0, begin);
    if (pending.size() > kMaxLineBytes) {
      return absl::FailedPreconditionError(
          absl::StrCat(path, ": a line over ", kMaxLineBytes, " bytes"));
    }
  }
  if (!pending.empty()) visit(pending);
  return absl::OkStatus();
}

absl::StatusOr<std::vector<std::string>> FileReader::List(
    absl::string_view path) const {
  RETURN_IF_ERROR(CheckInsideRoot(path));
  const int fd =
      open(Resolve(path).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0 && errno == ENOTDIR && CheckExists(path).ok()) {
    return absl::FailedPreconditionError(
        absl::StrCat(path, ": not a directory"));
  }
  if (fd < 0) return ErrnoStatus(path, errno);
  const std::unique_ptr<DIR, int (*)(DIR*)> directory(fdopendir(fd), closedir);
  if (directory == nullptr) {
    close(fd);
    return ErrnoStatus(path, ENOMEM);
  }
  std::vector<std::string> names;
  errno = 0;
  for (const dirent* entry; (entry = readdir(directory.get())) != nullptr;
       errno = 0) {
    const std::string name = entry->d_name;
    if (name == "." || name == "..") continue;
    if (names.size() == kMaxNames) {
      return absl::ResourceExhaustedError(
          absl::StrCat(path, ": over ", kMaxNames, " names"));
    }
    names.push_back(name);
  }
  if (errno != 0) return ErrnoStatus(path, errno);
  std::sort(names.begin(), names.end());
  return names;
}

absl::StatusOr<std::string> FileReader::ReadLink(absl::string_view path) const {
  char target[PATH_MAX];
  const ssize_t size = readlink(Resolve(path).c_str(), target, sizeof(target));
  if (size < 0 && errno == EINVAL) {
    return absl::FailedPreconditionError(absl::StrCat(path, ": not a link"));
  }
  if (size < 0) return ErrnoStatus(path, errno);
  return std::string(target, size);
}

absl::Status FileReader::CheckExists(absl::string_view path) const {
  struct stat info;
  if (lstat(Resolve(path).c_str(), &info) == 0) return absl::OkStatus();
  return ErrnoStatus(path, errno);
}

absl::StatusOr<bool> FileReader::IsOnReadOnlyMount(
    absl::string_view path) const {
  RETURN_IF_ERROR(CheckInsideRoot(path));
  struct statvfs mount;
  if (statvfs(Resolve(path).c_str(), &mount) != 0) {
    return ErrnoStatus(path, errno);
  }
  return (mount.f_flag & ST_RDONLY) != 0;
}

absl::Status FileReader::CheckInsideRoot(absl::string_view path) const {
  if (root_.empty()) return absl::OkStatus();
  const std::unique_ptr<char, void (*)(void*)> real(
      realpath(Resolve(path).c_str(), nullptr), free);
  if (real == nullptr) return ErrnoStatus(path, errno);
  const std::unique_ptr<char, void (*)(void*)> real_root(
      realpath(root_.c_str(), nullptr), free);
  if (real_root == nullptr) return ErrnoStatus(path, errno);
  if (absl::StartsWith(real.get(), absl::StrCat(real_root.get(), "/"))) {
    return absl::OkStatus();
  }
  return absl::PermissionDeniedError(
      absl::StrCat(path, ": leads out of ", root_));
}

absl::StatusOr<int> FileReader::OpenRegularFile(absl::string_view path,
                                                uint32_t* mode) const {
  RETURN_IF_ERROR(CheckInsideRoot(path));
  const int fd =
      open(Resolve(path).c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (fd < 0) return ErrnoStatus(path, errno);
  struct stat info;
  const bool known = fstat(fd, &info) == 0;
  if (known && S_ISREG(info.st_mode)) {
    *mode = info.st_mode & 07777;
    return fd;
  }
  close(fd);
  return absl::FailedPreconditionError(absl::StrCat(
      path, known && S_ISDIR(info.st_mode) ? ": is a directory"
                                           : ": not a regular file"));
}

}  // namespace clusterd
