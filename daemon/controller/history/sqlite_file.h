// A file of ours in the controller's state folder, through SQLite: made whole
// or not at all, one process at a time, every write synced; and how it is told
// from one that is damaged, of another program or of another format.
#ifndef DAEMON_CONTROLLER_HISTORY_SQLITE_FILE_H_
#define DAEMON_CONTROLLER_HISTORY_SQLITE_FILE_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "daemon/controller/history/sqlite_database.h"

namespace clusterd {

// One controller for one state folder: a lock on the folder itself, held until
// the last copy goes, and given back by the kernel when the process ends,
// however it ends.
using FolderLock = std::shared_ptr<const int>;  // The folder's descriptor.

// NotFound if there is no such folder; PermissionDenied if it cannot be opened;
// Unavailable if another holds it, also in this process.
absl::StatusOr<FolderLock> LockFolder(const std::string& folder);

// What a file is made as, and known by.
struct SqliteFormat {
  const char* what;    // "history"
  int application_id;  // So that `file` and we tell it from any other one.
  // user_version. Goes up when an older controller would misread it.
  int version;
  // CREATE TABLE ...; after what can only be chosen before the first table.
  const char* before_tables;
  const char* tables;
  // What is looked through at the start, as quick_check takes it; "": all.
  const char* checked;
};

// Makes the file (mode 0600) if there is none. `folder` is an open descriptor
// of its folder.
//   Unavailable         another process uses it; or the disk does not read
//   FailedPrecondition  a controller of another format made it; or no file
//   DataLoss            none of ours, or damaged as far as it is looked
//                       through; it stays as it is, and is never replaced
//   others              as HistoryStore
absl::StatusOr<std::unique_ptr<SqliteDatabase>> OpenSqliteFile(
    const std::string& path, int folder, const SqliteFormat& format);

}  // namespace clusterd

#endif  // DAEMON_CONTROLLER_HISTORY_SQLITE_FILE_H_
