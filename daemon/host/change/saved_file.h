// Files that are changed and put back. Whole, so that a reader, or a crash,
// finds the old text or the new one and nothing between: a temporary beside the
// file, synced, renamed over it, and the folder synced. Or, for hccn.conf, in
// place.
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

// Where the new text of `path` is written first. One name for each file, so
// that what a crash left behind is found again.
std::string TemporaryOf(const std::string& path);

// What a file holds now, with owner and mode; existed is false if there is
// none. FailedPrecondition if the path is a link, folder or device.
absl::StatusOr<SavedFile> SaveFile(FileSystem* files, const std::string& path);

// Puts `content` there with the owner and mode of the file that was there, or
// root and 0644. FailedPrecondition as SaveFile. On any other error the
// old file is still there and the temporary is gone, unless removing it fails
// too.
absl::Status ReplaceFile(const MutationToken& token, FileSystem* files,
                         const std::string& path, absl::string_view content);

// Makes the file what it was, or removes it if there was none; also removes a
// temporary that a crash left. Does nothing that is done already.
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
  // `files` and `clock` must outlive it. `lock_wait`: how long to wait for who
  // holds the lock; a held lock, even a shared one, blocks writers for ever.
  InPlaceFile(FileSystem* files, Clock* clock, std::string path,
              absl::Duration lock_wait)
      : files_(files),
        clock_(clock),
        path_(std::move(path)),
        lock_wait_(lock_wait) {}

  const std::string& path() const { return path_; }

  // Both wait for the lock as well: what the tool has written half of must not
  // be taken for all of it. NotFound; DeadlineExceeded and the rule about the
  // tool as for Edit.
  absl::StatusOr<std::string> Read() const;
  // Content, owner and mode, also of a file that is held for longer than the
  // tool does, unless it is empty. FailedPrecondition if it is no file.
  absl::StatusOr<SavedFile> Save() const;

  // Reads under the lock, calls `edit`, and writes its answer into the same
  // inode, synced; writes nothing if the answer is the same text. The error of
  // `edit` as it is; NotFound; DeadlineExceeded if the lock was not to be had.
  // Must not be called while the tool runs on behalf of this process: it would
  // wait for us.
  absl::Status Edit(
      const MutationToken& token,
      const std::function<absl::StatusOr<std::string>(absl::string_view)>&
          edit);

  // Nobody but root holds the lock of the file, or can take it, until Restore
  // gives the file its owner and mode back. Whoever may open it could hold the
  // lock for ever, and the tool waits for that without an end; one who has it
  // open longer than `lock_wait` keeps the old inode.
  absl::Status Guard(const MutationToken& token);

  // Makes it what it was, owner and mode too. A file that has vanished is
  // created again. Does nothing that is done already.
  absl::Status Restore(const MutationToken& token, const SavedFile& saved);

 private:
  // The file under `path_` with its lock held.
  absl::StatusOr<std::unique_ptr<OpenFile>> OpenLocked() const;

  FileSystem* const files_;
  Clock* const clock_;
  const std::string path_;
  const absl::Duration lock_wait_;
};

}  // namespace clusterd

#endif  // DAEMON_HOST_CHANGE_SAVED_FILE_H_
