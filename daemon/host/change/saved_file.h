// Files that are changed and restored. A reader, or a crash, finds either the
// whole old text or the whole new one: a temporary beside the file is synced
// and renamed over it, and the folder synced. hccn.conf is written in place
// instead.
#ifndef DAEMON_HOST_CHANGE_SAVED_FILE_H_
#define DAEMON_HOST_CHANGE_SAVED_FILE_H_

#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "daemon/host/change/file_system.h"
#include "daemon/host/change/mutation_token.h"
#include "daemon/host/command/clock.h"
#include "proto/plan.pb.h"

namespace clusterd {

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

#endif  // DAEMON_HOST_CHANGE_SAVED_FILE_H_
