// The tables of the history's file, how they are made and how a file is told
// from one that is damaged, of another program or of a newer controller.
//   entry   place, id, kind, running, bytes and sha256 of the detail, entry
//   detail  place, record
// `entry` holds a serialized HistoryEntry, `record` the rest of its
// HistoryRecord. The columns beside them are what is searched for.
#ifndef DAEMON_CONTROLLER_HISTORY_HISTORY_SCHEMA_H_
#define DAEMON_CONTROLLER_HISTORY_HISTORY_SCHEMA_H_

#include "absl/status/status.h"
#include "daemon/controller/history/sqlite_database.h"

namespace clusterd {

// user_version of the file. Goes up when an older controller would misread it.
inline constexpr int kHistoryFormat = 1;

// Makes the tables in an empty file.
absl::Status CreateHistoryTables(const SqliteDatabase& database);

// How this connection locks, syncs and checks; daemon/docs/decisions/
// 0005-history-in-sqlite.md has the reasons. Before anything else is read.
absl::Status SetHistoryPragmas(const SqliteDatabase& database);

// DataLoss if the file is damaged as far as the list reaches (a damaged detail
// shows when it is read), or is no history; FailedPrecondition if a newer
// controller made it.
absl::Status CheckHistoryTables(const SqliteDatabase& database);

}  // namespace clusterd

#endif  // DAEMON_CONTROLLER_HISTORY_HISTORY_SCHEMA_H_
