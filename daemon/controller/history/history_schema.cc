#include "daemon/controller/history/history_schema.h"

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"

namespace clusterd {
namespace {

// "clhi", so that `file` and we tell it from any other SQLite file.
constexpr int kApplicationId = 0x636c6869;

// auto_vacuum can only be chosen before the first table.
constexpr char kTables[] =
    "PRAGMA auto_vacuum = INCREMENTAL;"
    "BEGIN IMMEDIATE;"
    "CREATE TABLE entry ("
    "  place INTEGER PRIMARY KEY AUTOINCREMENT,"
    "  id TEXT NOT NULL UNIQUE,"
    "  kind INTEGER NOT NULL,"
    "  running INTEGER NOT NULL,"
    "  bytes INTEGER NOT NULL,"
    "  sha256 BLOB NOT NULL,"
    "  entry BLOB NOT NULL"
    ") STRICT;"
    "CREATE TABLE detail ("
    "  place INTEGER PRIMARY KEY REFERENCES entry (place) ON DELETE CASCADE,"
    "  record BLOB NOT NULL"
    ") STRICT;";

constexpr char kPragmas[] =
    "PRAGMA locking_mode = EXCLUSIVE;"
    "PRAGMA journal_mode = TRUNCATE;"
    "PRAGMA synchronous = FULL;"
    "PRAGMA foreign_keys = ON;"
    "PRAGMA secure_delete = OFF;"
    "PRAGMA cell_size_check = ON;"
    "PRAGMA trusted_schema = OFF;"
    "PRAGMA temp_store = MEMORY;";

}  // namespace

absl::Status CreateHistoryTables(const SqliteDatabase& database) {
  const std::string sql =
      absl::StrCat(kTables, "PRAGMA application_id = ", kApplicationId,
                   "; PRAGMA user_version = ", kHistoryFormat, "; COMMIT;");
  return database.Execute(sql.c_str());
}

absl::Status SetHistoryPragmas(const SqliteDatabase& database) {
  return database.Execute(kPragmas);
}

absl::Status CheckHistoryTables(const SqliteDatabase& database) {
  const absl::StatusOr<int64_t> application =
      database.ReadNumber("PRAGMA application_id");
  if (!application.ok()) return application.status();
  if (*application != kApplicationId) {
    return SqliteStatus(SQLITE_NOTADB, 0, database.path(),
                        "is no history of clusterd-controller");
  }
  const absl::StatusOr<int64_t> format =
      database.ReadNumber("PRAGMA user_version");
  if (!format.ok()) return format.status();
  if (*format != kHistoryFormat) {
    return absl::FailedPreconditionError(absl::StrCat(
        database.path(), ": made by a newer controller (format ", *format,
        "), expected format ", kHistoryFormat,
        "; install that version again, or move the file away to begin with an "
        "empty history"));
  }
  SqliteStatement check = database.Prepare("PRAGMA quick_check('entry')");
  const absl::StatusOr<bool> row = check.Step();
  if (!row.ok()) return row.status();
  const std::string verdict = *row ? check.Text(0) : "no answer";
  if (verdict == "ok") return absl::OkStatus();
  return SqliteStatus(SQLITE_CORRUPT, 0, database.path(), verdict);
}

}  // namespace clusterd
