// SQLite's C interface with owners and Status: one connection, statements with
// bound values, transactions that end. Knows no table of ours.
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

}  // namespace clusterd

#endif  // DAEMON_CONTROLLER_HISTORY_SQLITE_DATABASE_H_
