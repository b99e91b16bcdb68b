// The files that the controller keeps through SQLite: each is made whole or not
// at all, has one process at a time, and syncs every write. SqliteDatabase is
// SQLite's C interface with owners and Status: one connection, statements with
// bound values, transactions that end.
//   database->Run("SELECT name FROM host WHERE id = ?1", {7},
//                 [&](const SqliteRow& row) { names.insert(row.Text(0)); });
// Errors are those of HistoryStore, with the file's path in front, and Internal
// for a statement that is wrong.
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

// What a statement gives, until the next row. Columns count from 0.
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

// One thread at a time.
class SqliteDatabase {
 public:
  // A file that exists, or ":memory:". Where it cannot be written it is opened
  // for reading.
  static absl::StatusOr<std::unique_ptr<SqliteDatabase>> Open(
      const std::string& path);

  // One statement, to its end: `values` are ?1, ?2, … in turn, and `on_row` is
  // called once for each row.
  absl::Status Run(
      absl::string_view sql, std::initializer_list<SqliteValue> values = {},
      const std::function<void(const SqliteRow& row)>& on_row =
          [](const auto&) {}) const;
  // Statements without values, one after the other.
  absl::Status Execute(const char* sql) const;
  // Everything that `work` does, or nothing of it: after an error of its own or
  // of the commit all is taken back.
  absl::Status Transact(const std::function<absl::Status()>& work) const;
  // The one number that the statement gives.
  absl::StatusOr<int64_t> ReadNumber(absl::string_view sql) const;

  const std::string& path() const { return path_; }

 private:
  SqliteDatabase(std::string path, sqlite3* connection)
      : path_(std::move(path)), connection_(connection, sqlite3_close_v2) {}
  // What the last call on this connection came to.
  absl::Status LastError() const;

  const std::string path_;
  const std::unique_ptr<sqlite3, decltype(&sqlite3_close_v2)> connection_;
};

// The Status for a result code of SQLite, with the file in front. `system`: the
// errno behind it, 0 if there is none.
absl::Status SqliteStatus(int code, int system, absl::string_view path,
                          absl::string_view text);

// One controller for one state folder: a lock on the folder, held until the
// descriptor closes. The kernel gives it back when the process ends. NotFound
// if there is no such folder; PermissionDenied if it cannot be opened;
// Unavailable if another holds it, also in this process.
absl::StatusOr<OwnedFd> LockFolder(const std::string& folder);

// How a file is made and recognized.
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

// Makes the file (mode 0600) if there is none.
//   Unavailable         another process uses it; or the disk does not read
//   FailedPrecondition  a controller of another format made it; or no file
//   DataLoss            none of ours, or damaged as far as it is looked
//                       through; it stays as it is, and is never replaced
//   others              as HistoryStore
absl::StatusOr<std::unique_ptr<SqliteDatabase>> OpenSqliteFile(
    const std::string& path, const SqliteFormat& format);

}  // namespace clusterd

#endif  // DAEMON_CONTROLLER_HISTORY_SQLITE_DATABASE_H_
