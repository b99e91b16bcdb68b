// SQLite's C interface with owners and Status: one connection, statements with
// bound values, transactions that end. Knows no table of ours.
//   SqliteStatement get = db->Prepare("SELECT name FROM host WHERE id = ?1");
//   get.Bind(7);
//   const absl::StatusOr<bool> row = get.Step();
// Errors are those of HistoryStore, with the file's path in front, and Internal
// for a statement that is wrong.
#ifndef DAEMON_CONTROLLER_HISTORY_SQLITE_DATABASE_H_
#define DAEMON_CONTROLLER_HISTORY_SQLITE_DATABASE_H_

#include <sqlite3.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace clusterd {

class SqliteDatabase;

// Ends before its database.
class SqliteStatement {
 public:
  SqliteStatement(const SqliteStatement&) = delete;
  SqliteStatement& operator=(const SqliteStatement&) = delete;

  // Values for ?1, ?2, … in turn. Text and blobs are not copied: they must
  // stay as they are until the statement goes.
  SqliteStatement& Bind(int64_t value);
  SqliteStatement& BindText(absl::string_view text);
  SqliteStatement& BindBlob(absl::string_view bytes);

  // True: there is a row; false: no more. Also gives what Prepare and Bind met.
  absl::StatusOr<bool> Step();
  // Steps to the end, `on_row` once for each row. Also gives what Prepare and
  // Bind met.
  absl::Status ForEachRow(const std::function<void()>& on_row);
  // Steps to the end.
  absl::Status Run() {
    return ForEachRow([] {});
  }

  // Of the row, until the next step. Columns count from 0.
  int64_t Int(int column) const {
    return sqlite3_column_int64(statement_.get(), column);
  }
  std::string Text(int column) const { return std::string(Blob(column)); }
  // A view into SQLite's memory.
  absl::string_view Blob(int column) const;

 private:
  friend class SqliteDatabase;
  struct Finalizer {
    void operator()(sqlite3_stmt* statement) const {
      sqlite3_finalize(statement);
    }
  };
  SqliteStatement(const SqliteDatabase* database, sqlite3_stmt* statement,
                  absl::Status status)
      : database_(database),
        statement_(statement),
        status_(std::move(status)) {}
  void Note(int code);

  const SqliteDatabase* const database_;
  const std::unique_ptr<sqlite3_stmt, Finalizer> statement_;
  absl::Status status_;
  int bound_ = 0;
};

// One thread at a time.
class SqliteDatabase {
 public:
  // A file that exists, or ":memory:". Where it cannot be written it is opened
  // for reading.
  static absl::StatusOr<std::unique_ptr<SqliteDatabase>> Open(
      const std::string& path);

  // One statement; what is wrong with it is told by its first Step.
  SqliteStatement Prepare(absl::string_view sql) const;
  // Statements without values, one after the other.
  absl::Status Execute(const char* sql) const;
  // Everything that `work` does, or nothing of it: after an error of its own or
  // of the commit all is taken back.
  absl::Status Transact(const std::function<absl::Status()>& work) const;
  // The one number that the statement gives.
  absl::StatusOr<int64_t> ReadNumber(absl::string_view sql) const;

  // What the last call on this connection came to.
  absl::Status LastError() const;
  const std::string& path() const { return path_; }

 private:
  struct Closer {
    void operator()(sqlite3* connection) const { sqlite3_close_v2(connection); }
  };
  SqliteDatabase(std::string path, sqlite3* connection)
      : path_(std::move(path)), connection_(connection) {}

  const std::string path_;
  const std::unique_ptr<sqlite3, Closer> connection_;
};

// The Status for a result code of SQLite, with the file in front. `system`: the
// errno behind it, 0 if there is none.
absl::Status SqliteStatus(int code, int system, absl::string_view path,
                          absl::string_view text);

}  // namespace clusterd

#endif  // DAEMON_CONTROLLER_HISTORY_SQLITE_DATABASE_H_
