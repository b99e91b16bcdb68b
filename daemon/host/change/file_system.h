// The file operations that change a machine, one call for one effect, so that a
// test can count them and stop between any two; and files that are changed and
// restored with them. Paths are absolute.
#ifndef DAEMON_HOST_CHANGE_FILE_SYSTEM_H_
#define DAEMON_HOST_CHANGE_FILE_SYSTEM_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "daemon/host/change/mutation_token.h"
#include "daemon/host/command/clock.h"
#include "proto/plan.pb.h"

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
// is the whole old or new file. A draft left by a crash, or by an error, is
// removed.
absl::Status WriteByDraft(FileSystem* files, const std::string& draft,
                          const std::string& path, absl::string_view bytes);

absl::StatusOr<std::string> ReadWholeFile(FileSystem* files,
                                          const std::string& path,
                                          size_t max_bytes);

// Files that are changed and restored. A reader, or a crash, finds either the
// whole old text or the whole new one: a temporary beside the file is synced
// and renamed over it, and the folder synced. hccn.conf is written in place
// instead.

// A configuration file is smaller than this.
inline constexpr size_t kMaxFileBytes = 4 << 20;

// Path to which the new text of `path` is written first. It is fixed, so that
// the next run finds what a crash left behind.
std::string TemporaryOf(const std::string& path);

// Returns the file's content, owner and mode; existed is false if there is
// none. FailedPrecondition if the path is a link, folder or device.
absl::StatusOr<SavedFile> SaveFile(FileSystem* files, const std::string& path);

// Writes `content` with the owner and mode of the previous file, or root and
// 0644. FailedPrecondition as SaveFile. On any other error the old file still
// exists, and the temporary is gone, unless removing it fails too.
absl::Status ReplaceFile(const MutationToken& token, FileSystem* files,
                         const std::string& path, absl::string_view content);

// Restores the file, or removes it if there was none; also removes a temporary
// left by a crash. Does nothing if already restored.
absl::Status RestoreFile(const MutationToken& token, FileSystem* files,
                         const SavedFile& saved);

// Edits /etc/hccn.conf the way the vendor's tool does: the same inode, under
// flock(LOCK_EX). A file that is renamed over while the tool waits for its lock
// makes the tool report success and lose the key (hccn_tool source,
// hicann/driver ef377e95, cfg.c; seen when the tool was run).
// A crash between the writes leaves a mixture: the caller keeps the old text in
// a synced journal first.
class InPlaceFile {
 public:
  // `files` and `clock` must outlive it. `lock_wait`: how long to wait for the
  // lock; a held lock, even a shared one, blocks writers without a limit.
  InPlaceFile(FileSystem* files, Clock* clock, std::string path,
              absl::Duration lock_wait)
      : files_(files),
        clock_(clock),
        path_(std::move(path)),
        lock_wait_(lock_wait) {}

  const std::string& path() const { return path_; }

  // Read and Save also wait for the lock, to avoid a half-written file.
  // NotFound; DeadlineExceeded and the rule about the tool as for Edit.
  absl::StatusOr<std::string> Read() const;
  // Returns content, owner and mode, even if the lock is held longer than the
  // tool does, unless it is empty. FailedPrecondition if it is not a file.
  absl::StatusOr<SavedFile> Save() const;

  // Reads under the lock, calls `edit`, and writes its answer into the same
  // inode, synced; writes nothing if the text is unchanged. Returns the error
  // of `edit`; NotFound; DeadlineExceeded if the lock stays taken. Must not be
  // called while the tool runs for this process: it would wait for us.
  absl::Status Edit(
      const MutationToken& token,
      const std::function<absl::StatusOr<std::string>(absl::string_view)>&
          edit);

  // Until Restore resets owner and mode, only root holds or can take the file's
  // lock. Any user who may open it could hold the lock, for which the tool
  // waits without a limit. A process that has it open longer than `lock_wait`
  // keeps the old inode.
  absl::Status Guard(const MutationToken& token);

  // Restores content, owner and mode. Creates the file if it has vanished. Does
  // nothing if already restored.
  absl::Status Restore(const MutationToken& token, const SavedFile& saved);

 private:
  // Opens the file at `path_` and takes its lock.
  absl::StatusOr<std::unique_ptr<OpenFile>> OpenLocked() const;

  FileSystem* const files_;
  Clock* const clock_;
  const std::string path_;
  const absl::Duration lock_wait_;
};

}  // namespace clusterd

#endif  // DAEMON_HOST_CHANGE_FILE_SYSTEM_H_
