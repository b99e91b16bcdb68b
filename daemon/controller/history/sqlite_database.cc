#include "daemon/controller/history/sqlite_database.h"

#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "config/values/status_macros.h"

namespace clusterd {
namespace {

constexpr char kAfterDamage[] =
    "; stop the controller and put a backup in its place, or move it away to "
    "begin with an empty history";

bool IsFull(int system) {
  return system == ENOSPC || system == EDQUOT || system == EFBIG;
}

}  // namespace

absl::Status SqliteStatus(int code, int system, absl::string_view path,
                          absl::string_view text) {
  const std::string because =
      system == 0 ? std::string(text)
                  : absl::StrCat(text, ", ", std::strerror(system));
  switch (code & 0xff) {
    case SQLITE_OK:
    case SQLITE_ROW:
    case SQLITE_DONE:
      return absl::OkStatus();
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
    case SQLITE_FORMAT:
      return absl::DataLossError(
          absl::StrCat(path, ": is damaged (", text, ")", kAfterDamage));
    case SQLITE_FULL:
      return absl::ResourceExhaustedError(
          absl::StrCat(path, ": no space left on its disk"));
    case SQLITE_NOMEM:
    case SQLITE_TOOBIG:
      return absl::ResourceExhaustedError(absl::StrCat(path, ": ", because));
    case SQLITE_READONLY:
    case SQLITE_PERM:
    case SQLITE_AUTH:
    case SQLITE_CANTOPEN:
      return absl::PermissionDeniedError(
          absl::StrCat(path, ": cannot be written (", because,
                       "), expected a file and folder that the controller's "
                       "user may write"));
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return absl::UnavailableError(
          absl::StrCat(path, ": in use by another process, expected none"));
    case SQLITE_IOERR:
      if (IsFull(system)) {
        return absl::ResourceExhaustedError(
            absl::StrCat(path, ": cannot grow (", because, ")"));
      }
      return absl::UnavailableError(absl::StrCat(path, ": ", because));
    default:
      return absl::InternalError(absl::StrCat(path, ": ", because));
  }
}

SqliteStatement& SqliteStatement::Bind(int64_t value) {
  Note(sqlite3_bind_int64(statement_.get(), ++bound_, value));
  return *this;
}

// SQLite takes a null pointer for NULL, and an empty view may have one.
SqliteStatement& SqliteStatement::BindText(absl::string_view text) {
  Note(sqlite3_bind_text64(statement_.get(), ++bound_,
                           text.empty() ? "" : text.data(), text.size(),
                           SQLITE_STATIC, SQLITE_UTF8));
  return *this;
}

SqliteStatement& SqliteStatement::BindBlob(absl::string_view bytes) {
  Note(sqlite3_bind_blob64(statement_.get(), ++bound_,
                           bytes.empty() ? "" : bytes.data(), bytes.size(),
                           SQLITE_STATIC));
  return *this;
}

void SqliteStatement::Note(int code) {
  if (code != SQLITE_OK && status_.ok()) status_ = database_->LastError();
}

absl::StatusOr<bool> SqliteStatement::Step() {
  if (!status_.ok()) return status_;
  const int code = sqlite3_step(statement_.get());
  if (code == SQLITE_ROW) return true;
  if (code == SQLITE_DONE) return false;
  status_ = database_->LastError();
  return status_;
}

absl::Status SqliteStatement::ForEachRow(const std::function<void()>& on_row) {
  while (true) {
    ASSIGN_OR_RETURN(const bool row, Step());
    if (!row) return absl::OkStatus();
    on_row();
  }
}

absl::string_view SqliteStatement::Blob(int column) const {
  const void* const bytes = sqlite3_column_blob(statement_.get(), column);
  const int size = sqlite3_column_bytes(statement_.get(), column);
  return absl::string_view(static_cast<const char*>(bytes),
                           bytes == nullptr ? 0 : size);
}

absl::StatusOr<std::unique_ptr<SqliteDatabase>> SqliteDatabase::Open(
    const std::string& path) {
  sqlite3* connection = nullptr;
  const int code = sqlite3_open_v2(
      path.c_str(), &connection,
      SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE,
      nullptr);
  if (connection == nullptr) {
    return absl::ResourceExhaustedError(
        absl::StrCat(path, ": not enough memory"));
  }
  std::unique_ptr<SqliteDatabase> database(
      new SqliteDatabase(path, connection));
  if (code != SQLITE_OK) return database->LastError();
  return database;
}

SqliteStatement SqliteDatabase::Prepare(absl::string_view sql) const {
  sqlite3_stmt* statement = nullptr;
  const int code =
      sqlite3_prepare_v2(connection_.get(), sql.data(),
                         static_cast<int>(sql.size()), &statement, nullptr);
  return SqliteStatement(this, statement,
                         code == SQLITE_OK ? absl::OkStatus() : LastError());
}

absl::Status SqliteDatabase::Execute(const char* sql) const {
  const int code =
      sqlite3_exec(connection_.get(), sql, nullptr, nullptr, nullptr);
  return code == SQLITE_OK ? absl::OkStatus() : LastError();
}

absl::StatusOr<int64_t> SqliteDatabase::ReadNumber(
    absl::string_view sql) const {
  SqliteStatement statement = Prepare(sql);
  ASSIGN_OR_RETURN(const bool row, statement.Step());
  if (!row) {
    return absl::InternalError(absl::StrCat(path_, ": no row from ", sql));
  }
  return statement.Int(0);
}

absl::Status SqliteDatabase::LastError() const {
  const int code = sqlite3_extended_errcode(connection_.get());
  // The errno is of the last failed system call, however long ago that was.
  const bool from_system =
      (code & 0xff) == SQLITE_IOERR || (code & 0xff) == SQLITE_CANTOPEN;
  return SqliteStatus(code,
                      from_system ? sqlite3_system_errno(connection_.get()) : 0,
                      path_, sqlite3_errmsg(connection_.get()));
}

absl::Status SqliteDatabase::Transact(
    const std::function<absl::Status()>& work) const {
  absl::Status status = Execute("BEGIN IMMEDIATE");
  if (status.ok()) status = work();
  if (status.ok()) status = Execute("COMMIT");
  // SQLite itself ends some transactions that fail. A rollback that fails
  // leaves the journal, and the next use of the file finishes it.
  if (sqlite3_get_autocommit(connection_.get()) == 0) {
    Execute("ROLLBACK").IgnoreError();
  }
  return status;
}

}  // namespace clusterd
