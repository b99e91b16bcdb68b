#include "daemon/controller/history/history_file.h"

#include "absl/strings/str_cat.h"
#include "config/values/status_macros.h"

namespace clusterd {
namespace {

constexpr SqliteFormat kFormat = {
    "history",
    0x636c6869,  // "clhi"
    kHistoryFormat,
    "PRAGMA auto_vacuum = INCREMENTAL;",
    "CREATE TABLE entry ("
    "  position INTEGER PRIMARY KEY AUTOINCREMENT,"
    "  id TEXT NOT NULL UNIQUE,"
    "  kind INTEGER NOT NULL,"
    "  running INTEGER NOT NULL,"
    "  bytes INTEGER NOT NULL,"
    "  sha256 BLOB NOT NULL,"
    "  entry BLOB NOT NULL"
    ") STRICT;"
    "CREATE TABLE detail ("
    "  position INTEGER PRIMARY KEY"
    "    REFERENCES entry (position) ON DELETE CASCADE,"
    "  record BLOB NOT NULL"
    ") STRICT;",
    "('entry')"};

}  // namespace

absl::StatusOr<HistoryFile> OpenHistoryFile(const std::string& folder) {
  HistoryFile file;
  ASSIGN_OR_RETURN(file.lock, LockFolder(folder));
  ASSIGN_OR_RETURN(file.database,
                   OpenSqliteFile(absl::StrCat(folder, "/", kHistoryFile),
                                  *file.lock, kFormat));
  return file;
}

}  // namespace clusterd
