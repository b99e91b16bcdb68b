// One controller for one state folder: a lock on the folder itself, which the
// kernel gives back when the process ends, however it ends.
#ifndef DAEMON_CONTROLLER_HISTORY_FOLDER_LOCK_H_
#define DAEMON_CONTROLLER_HISTORY_FOLDER_LOCK_H_

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace clusterd {

class FolderLock {
 public:
  // NotFound if there is no such folder; PermissionDenied if it cannot be
  // opened; Unavailable if another holds it, also in this process.
  static absl::StatusOr<std::unique_ptr<FolderLock>> Take(
      const std::string& folder);
  ~FolderLock();
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;

  // Makes the names of new files in it last. Unavailable if the disk does not.
  absl::Status Sync();

 private:
  FolderLock(std::string folder, int fd);

  const std::string folder_;
  const int fd_;
};

}  // namespace clusterd

#endif  // DAEMON_CONTROLLER_HISTORY_FOLDER_LOCK_H_
