#include "daemon/controller/history/sqlite_database.h"

#include <cerrno>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "config/values/status_macros.h"

namespace clusterd {
namespace {

constexpr char kAfterDamage[] =
    "; stop the controller and put a backup in its place, or move it away to "
    "begin with an empty one";

int Bind(const SqliteValue& value, int position, sqlite3_stmt* statement) {
  if (const auto* number = std::get_if<int64_t>(&value)) {
    return sqlite3_bind_int64(statement, position, *number);
  }
  const auto* const blob = std::get_if<SqliteBlob>(&value);
  const auto bytes = blob ? blob->bytes : std::get<absl::string_view>(value);
  // SQLite takes a null pointer for NULL, and an empty view may have one.
  const char* const data = bytes.empty() ? "" : bytes.data();
  return blob ? sqlite3_bind_blob64(statement, position, data, bytes.size(),
                                    SQLITE_STATIC)
              : sqlite3_bind_text64(statement, position, data, bytes.size(),
                                    SQLITE_STATIC, SQLITE_UTF8);
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
      if (system == ENOSPC || system == EDQUOT || system == EFBIG) {
        return absl::ResourceExhaustedError(
            absl::StrCat(path, ": cannot grow (", because, ")"));
      }
      return absl::UnavailableError(absl::StrCat(path, ": ", because));
    default:
      return absl::InternalError(absl::StrCat(path, ": ", because));
  }
}

absl::string_view SqliteRow::Blob(int column) const {
  const void* const bytes = sqlite3_column_blob(statement_, column);
  const int size = sqlite3_column_bytes(statement_, column);
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

absl::Status SqliteDatabase::Run(
    absl::string_view sql, std::initializer_list<SqliteValue> values,
    const std::function<void(const SqliteRow& row)>& on_row) const {
  sqlite3_stmt* prepared = nullptr;
  int code =
      sqlite3_prepare_v2(connection_.get(), sql.data(),
                         static_cast<int>(sql.size()), &prepared, nullptr);
  const std::unique_ptr<sqlite3_stmt, decltype(&sqlite3_finalize)> statement(
      prepared, sqlite3_finalize);
  int position = 0;
  for (const SqliteValue& value : values) {
    if (code == SQLITE_OK) code = Bind(value, ++position, prepared);
  }
  if (code != SQLITE_OK) return LastError();
  while ((code = sqlite3_step(prepared)) == SQLITE_ROW) {
    on_row(SqliteRow(prepared));
  }
  return code == SQLITE_DONE ? absl::OkStatus() : LastError();
}

absl::Status SqliteDatabase::Execute(const char* sql) const {
  const int code =
      sqlite3_exec(connection_.get(), sql, nullptr, nullptr, nullptr);
  return code == SQLITE_OK ? absl::OkStatus() : LastError();
}

absl::StatusOr<int64_t> SqliteDatabase::ReadNumber(
    absl::string_view sql) const {
  int64_t number = 0;
  RETURN_IF_ERROR(
      Run(sql, {}, [&](const SqliteRow& row) { number = row.Int(0); }));
  return number;
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
