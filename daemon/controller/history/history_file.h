// The history's file: one controller holds its folder, and it has the tables
// that this controller knows. How it is told from one that is damaged, of
// another program or of another format is here, too.
//   entry   position, id, kind, running, bytes and sha256 of the detail, entry
//   detail  position, record
// `entry` holds a serialized HistoryEntry, `record` the rest of its
// HistoryRecord. The columns beside them are what is searched for.
#ifndef DAEMON_CONTROLLER_HISTORY_HISTORY_FILE_H_
#define DAEMON_CONTROLLER_HISTORY_HISTORY_FILE_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "daemon/controller/history/sqlite_file.h"

namespace clusterd {

inline constexpr char kHistoryFile[] = "history.db";

// user_version of the file. Goes up when an older controller would misread it.
inline constexpr int kHistoryFormat = 2;

struct HistoryFile {
  FolderLock lock;
  std::unique_ptr<SqliteDatabase> database;
};

// Makes the file (mode 0600) if there is none.
//   NotFound            there is no such folder
//   Unavailable         another controller uses it; or the disk does not read
//   FailedPrecondition  a controller of another format made it; or no file
//   DataLoss            no history, or damaged as far as the list reaches (a
//                       damaged detail shows when it is read); it stays as it
//                       is, and is never replaced by an empty one
//   others              as HistoryStore
absl::StatusOr<HistoryFile> OpenHistoryFile(const std::string& folder);

}  // namespace clusterd

#endif  // DAEMON_CONTROLLER_HISTORY_HISTORY_FILE_H_
