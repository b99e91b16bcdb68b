// The file operations that change a machine, one call for one effect, so that a
// test can count them and stop between any two. Paths are absolute.
#ifndef DAEMON_HOST_CHANGE_FILE_SYSTEM_H_
#define DAEMON_HOST_CHANGE_FILE_SYSTEM_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace clusterd {

enum class FileType { kRegular, kDirectory, kSymlink, kOther };

struct FileAttributes {
  FileType type = FileType::kRegular;
  uint32_t mode = 0600;  // Permission bits.
  uint32_t uid = 0;
  uint32_t gid = 0;
  uint64_t inode = 0;
  uint64_t size = 0;  // Bytes.
};

// An open file. The destructor closes it, which releases its lock. Errors are
// those of the system call, prefixed with the path.
class OpenFile {
 public:
  virtual ~OpenFile() = default;

  // Reads everything from the start. OutOfRange if it is over `max_bytes`.
  virtual absl::StatusOr<std::string> ReadAll(size_t max_bytes) = 0;
  virtual absl::StatusOr<FileAttributes> Attributes() = 0;

  // One write(2) at `offset`: returns the bytes written, which may be fewer.
  virtual absl::StatusOr<size_t> WriteAt(uint64_t offset,
                                         absl::string_view bytes) = 0;
  virtual absl::Status Truncate(uint64_t size) = 0;
  virtual absl::Status SetMode(uint32_t mode) = 0;
  virtual absl::Status SetOwner(uint32_t uid, uint32_t gid) = 0;
  virtual absl::Status Sync() = 0;

  // flock(LOCK_EX | LOCK_NB). False: another process holds it.
  virtual absl::StatusOr<bool> TryLock() = 0;
  // True if the file is open elsewhere, so that its opener may take the lock
  // without opening it now. Also true if the file system does not know.
  virtual bool IsOpenElsewhere() { return false; }
};

enum class OpenMode {
  kRead,
  kReadWrite,  // Must exist; nothing is cut off.
  kCreate,     // Must not exist, not even as a dangling link; mode 0600.
};

class FileSystem {
 public:
  virtual ~FileSystem() = default;

  // NotFound, AlreadyExists (kCreate), PermissionDenied, and the other errors
  // of open(2). Follows links except with kCreate.
  virtual absl::StatusOr<std::unique_ptr<OpenFile>> Open(
      const std::string& path, OpenMode mode) = 0;
  // Does not follow links. NotFound if it does not exist.
  virtual absl::StatusOr<FileAttributes> Stat(const std::string& path) = 0;
  // Names in a folder, sorted, without "." and "..". NotFound if it is missing.
  virtual absl::StatusOr<std::vector<std::string>> List(
      const std::string& folder) = 0;

  virtual absl::Status MakeDirectory(const std::string& path,
                                     uint32_t mode) = 0;
  virtual absl::Status Rename(const std::string& from,
                              const std::string& to) = 0;
  virtual absl::Status Remove(const std::string& path) = 0;
  virtual absl::Status SyncDirectory(const std::string& folder) = 0;
};

// The real file system below `root`, the prefix of every path: "/" in
// production, a scratch folder in tests. The kernel follows links inside, so
// they can lead out of it. Safe for concurrent use.
std::unique_ptr<FileSystem> MakePosixFileSystem(const std::string& root);

// "/etc" for "/etc/hccn.conf"; "/" for "/x".
std::string FolderOf(const std::string& path);

// Writes all of `bytes` at `offset`. DataLoss if a write takes no bytes.
absl::Status WriteFully(OpenFile* file, uint64_t offset,
                        absl::string_view bytes);

// Writes and syncs `draft`, renames it to `path` and syncs their folder: `path`
// is the whole old or new file. A draft left by a crash is removed.
absl::Status WriteByDraft(FileSystem* files, const std::string& draft,
                          const std::string& path, absl::string_view bytes);

absl::StatusOr<std::string> ReadWholeFile(FileSystem* files,
                                          const std::string& path,
                                          size_t max_bytes);

}  // namespace clusterd

#endif  // DAEMON_HOST_CHANGE_FILE_SYSTEM_H_
