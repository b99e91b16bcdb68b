#include "daemon/host/change/file_system.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/strings/strip.h"
#include "config/values/status_macros.h"
#include "config/words/message.h"

namespace clusterd {
namespace {

constexpr size_t kReadBytes = 64 << 10;

FileAttributes FromStat(const struct stat& status) {
  FileAttributes attributes;
  attributes.type = S_ISREG(status.st_mode)   ? FileType::kRegular
                    : S_ISDIR(status.st_mode) ? FileType::kDirectory
                    : S_ISLNK(status.st_mode) ? FileType::kSymlink
                                              : FileType::kOther;
  attributes.mode = status.st_mode & 07777;
  attributes.uid = status.st_uid;
  attributes.gid = status.st_gid;
  attributes.inode = status.st_ino;
  attributes.size = static_cast<uint64_t>(status.st_size);
  return attributes;
}

absl::Status Done(int result, const std::string& path) {
  return result == 0 ? absl::OkStatus() : absl::ErrnoToStatus(errno, path);
}

class PosixFile final : public OpenFile {
 public:
  PosixFile(std::string path, int descriptor)
      : path_(std::move(path)), descriptor_(descriptor) {}
  ~PosixFile() override {
    // Closing is not enough: a child of another thread that is about to become
    // its program has a copy of the descriptor, and so keeps the lock.
    if (is_locked_) flock(descriptor_, LOCK_UN);
    close(descriptor_);
  }

  absl::StatusOr<std::string> ReadAll(size_t max_bytes) override {
    std::string content;
    char buffer[kReadBytes];
    while (true) {
      const ssize_t got = pread(descriptor_, buffer, sizeof(buffer),
                                static_cast<off_t>(content.size()));
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) return Error();
      if (got == 0) return content;
      content.append(buffer, static_cast<size_t>(got));
      if (content.size() > max_bytes) {
        return OutOfRangeWords("msg-step-file-too-large", path_, max_bytes);
      }
    }
  }

  absl::StatusOr<FileAttributes> Attributes() override {
    struct stat status;
    if (fstat(descriptor_, &status) != 0) return Error();
    return FromStat(status);
  }

  absl::StatusOr<size_t> WriteAt(uint64_t offset,
                                 absl::string_view bytes) override {
    while (true) {
      const ssize_t put = pwrite(descriptor_, bytes.data(), bytes.size(),
                                 static_cast<off_t>(offset));
      if (put >= 0) return static_cast<size_t>(put);
      if (errno != EINTR) return Error();
    }
  }

  absl::Status Truncate(uint64_t size) override {
    return Done(ftruncate(descriptor_, static_cast<off_t>(size)), path_);
  }
  absl::Status SetMode(uint32_t mode) override {
    return Done(fchmod(descriptor_, static_cast<mode_t>(mode)), path_);
  }
  absl::Status SetOwner(uint32_t uid, uint32_t gid) override {
    return Done(fchown(descriptor_, uid, gid), path_);
  }
  absl::Status Sync() override { return Done(fsync(descriptor_), path_); }

  absl::StatusOr<bool> TryLock() override {
    is_locked_ = flock(descriptor_, LOCK_EX | LOCK_NB) == 0;
    if (is_locked_ || errno == EWOULDBLOCK || errno == EINTR) return is_locked_;
    return Error();
  }

  bool IsOpenElsewhere() override {
    // A process that opens the file meanwhile waits for the lease. The kernel
    // then sends SIGURG, which is ignored by default.
    fcntl(descriptor_, F_SETSIG, SIGURG);
    if (fcntl(descriptor_, F_SETLEASE, F_WRLCK) != 0) return true;
    fcntl(descriptor_, F_SETLEASE, F_UNLCK);
    return false;
  }

 private:
  absl::Status Error() const { return absl::ErrnoToStatus(errno, path_); }

  const std::string path_;
  const int descriptor_;
  bool is_locked_ = false;
};

class PosixFileSystem final : public FileSystem {
 public:
  explicit PosixFileSystem(const std::string& root)
      : root_(absl::StripSuffix(root, "/")) {}

  absl::StatusOr<std::unique_ptr<OpenFile>> Open(const std::string& path,
                                                 OpenMode mode) override {
    // Indexed by OpenMode.
    constexpr int kFlags[] = {O_RDONLY, O_RDWR,
                              O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW};
    // Opening a pipe in place of a file must not block a root daemon.
    const int flags =
        kFlags[static_cast<int>(mode)] | O_CLOEXEC | O_NOCTTY | O_NONBLOCK;
    const int descriptor = open(Full(path).c_str(), flags, 0600);
    if (descriptor < 0) return absl::ErrnoToStatus(errno, path);
    return std::unique_ptr<OpenFile>(
        std::make_unique<PosixFile>(path, descriptor));
  }

  absl::StatusOr<FileAttributes> Stat(const std::string& path) override {
    struct stat status;
    if (lstat(Full(path).c_str(), &status) == 0) return FromStat(status);
    return absl::ErrnoToStatus(errno, path);
  }

  absl::StatusOr<std::vector<std::string>> List(
      const std::string& folder) override {
    std::vector<std::string> names;
    std::error_code error;
    std::filesystem::directory_iterator entry(Full(folder), error);
    for (; !error && entry != std::filesystem::directory_iterator();
         entry.increment(error)) {
      names.push_back(entry->path().filename());
    }
    if (error) return absl::ErrnoToStatus(error.value(), folder);
    std::sort(names.begin(), names.end());
    return names;
  }

  absl::Status MakeDirectory(const std::string& path, uint32_t mode) override {
    return Done(mkdir(Full(path).c_str(), static_cast<mode_t>(mode)), path);
  }
  absl::Status Rename(const std::string& from, const std::string& to) override {
    return Done(rename(Full(from).c_str(), Full(to).c_str()), to);
  }
  absl::Status Remove(const std::string& path) override {
    return Done(unlink(Full(path).c_str()), path);
  }
  absl::Status SyncDirectory(const std::string& folder) override {
    const int descriptor =
        open(Full(folder).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (descriptor < 0) return absl::ErrnoToStatus(errno, folder);
    return PosixFile(folder, descriptor).Sync();
  }

 private:
  std::string Full(const std::string& path) const { return root_ + path; }

  const std::string root_;  // Without a slash at the end.
};

}  // namespace

std::unique_ptr<FileSystem> MakePosixFileSystem(const std::string& root) {
  return std::make_unique<PosixFileSystem>(root);
}

std::string FolderOf(const std::string& path) {
  const size_t slash = path.rfind('/');
  if (slash == std::string::npos || slash == 0) return "/";
  return path.substr(0, slash);
}

absl::Status WriteFully(OpenFile* file, uint64_t offset,
                        absl::string_view bytes) {
  while (!bytes.empty()) {
    ASSIGN_OR_RETURN(const size_t taken, file->WriteAt(offset, bytes));
    if (taken == 0) return DataLossWords("msg-step-write-took-nothing");
    offset += taken;
    bytes.remove_prefix(taken);
  }
  return absl::OkStatus();
}

absl::Status WriteByDraft(FileSystem* files, const std::string& draft,
                          const std::string& path, absl::string_view bytes) {
  const absl::Status removed = files->Remove(draft);
  if (!removed.ok() && !absl::IsNotFound(removed)) return removed;
  {
    ASSIGN_OR_RETURN(const auto file, files->Open(draft, OpenMode::kCreate));
    RETURN_IF_ERROR(WriteFully(file.get(), 0, bytes));
    RETURN_IF_ERROR(file->Sync());
  }
  RETURN_IF_ERROR(files->Rename(draft, path));
  return files->SyncDirectory(FolderOf(path));
}

absl::StatusOr<std::string> ReadWholeFile(FileSystem* files,
                                          const std::string& path,
                                          size_t max_bytes) {
  ASSIGN_OR_RETURN(const auto file, files->Open(path, OpenMode::kRead));
  return file->ReadAll(max_bytes);
}

}  // namespace clusterd
