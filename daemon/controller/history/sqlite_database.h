// SQLite files of the controller: each is made atomically, used by one process
// at a time, and synced at every write. SqliteDatabase wraps SQLite's C
// interface in owners and Status: one connection, statements with bound values,
// transactions that always end.
//   database->Run("SELECT name FROM host WHERE id = ?1", {7},
//                 [&](const SqliteRow& row) { names.insert(row.Text(0)); });
// Errors are those of HistoryStore, prefixed with the file's path, and Internal
// for an invalid statement.
#ifndef DAEMON_CONTROLLER_HISTORY_SQLITE_DATABASE_H_
#define DAEMON_CONTROLLER_HISTORY_SQLITE_DATABASE_H_

#include <sqlite3.h>

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <string>
#include <utility>
#include <variant>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "config/values/owned_fd.h"

namespace clusterd {

struct SqliteBlob {
  absl::string_view bytes;
};

// A number, a text or a blob.
using SqliteValue = std::variant<int64_t, absl::string_view, SqliteBlob>;

// A row of a result, valid until the next one. Columns count from 0.
class SqliteRow {
 public:
  explicit SqliteRow(sqlite3_stmt* statement) : statement_(statement) {}

  int64_t Int(int column) const {
    return sqlite3_column_int64(statement_, column);
  }
  std::string Text(int column) const { return std::string(Blob(column)); }
  // A view into SQLite's memory.
  absl::string_view Blob(int column) const;

 private:
  sqlite3_stmt* const statement_;
};

// For one thread at a time.
class SqliteDatabase {
 public:
  // Opens an existing file, or ":memory:"; read-only if it cannot be written.
  static absl::StatusOr<std::unique_ptr<SqliteDatabase>> Open(
      const std::string& path);

  // Runs one statement to its end. `values` bind ?1, ?2, … in order; `on_row`
  // is called once for each row.
  absl::Status Run(
      absl::string_view sql, std::initializer_list<SqliteValue> values = {},
      const std::function<void(const SqliteRow& row)>& on_row =
          [](const auto&) {}) const;
  // Runs statements without values, one after the other.
  absl::Status Execute(const char* sql) const;
  // Does `work` and commits it; rolls back if either fails.
  absl::Status Transact(const std::function<absl::Status()>& work) const;
  // The single number that the statement returns.
  absl::StatusOr<int64_t> ReadNumber(absl::string_view sql) const;

  const std::string& path() const { return path_; }

 private:
  SqliteDatabase(std::string path, sqlite3* connection)
      : path_(std::move(path)), connection_(connection, sqlite3_close_v2) {}
  // The result of the last call on this connection.
  absl::Status LastError() const;

  const std::string path_;
  const std::unique_ptr<sqlite3, decltype(&sqlite3_close_v2)> connection_;
};

// The Status for a result code of SQLite, prefixed with the file. `system`: the
// errno that caused it, 0 if there is none.
absl::Status SqliteStatus(int code, int system, absl::string_view path,
                          absl::string_view text);

// Locks a state folder for one controller, until the descriptor closes.
// NotFound if the folder does not exist; PermissionDenied if it cannot be
// opened; Unavailable if it is locked, also by this process.
absl::StatusOr<OwnedFd> LockFolder(const std::string& folder);

// How to make and recognise a kind of file.
struct SqliteFormat {
  const char* what;    // "history"
  int application_id;  // Identifies the format of `file`.
  // user_version. Raise it if an older controller would misread the file.
  int version;
  // CREATE TABLE ...; after pragmas that must precede the first table.
  const char* before_tables;
  const char* tables;
  // The table that quick_check checks at the start; "": all tables.
  const char* checked;
};

// Makes the file (mode 0600) if it does not exist.
//   Unavailable         another process uses it; or the disk does not read
//   FailedPrecondition  a controller of another format made it; or not a file
//   DataLoss            of another application, or damaged where it was
//                       checked; it stays as it is, and is never replaced
//   others              as HistoryStore
absl::StatusOr<std::unique_ptr<SqliteDatabase>> OpenSqliteFile(
    const std::string& path, const SqliteFormat& format);

}  // namespace clusterd

#endif  // DAEMON_CONTROLLER_HISTORY_SQLITE_DATABASE_H_
