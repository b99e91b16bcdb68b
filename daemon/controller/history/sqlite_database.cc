#include "daemon/controller/history/sqlite_database.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "config/identity/regular_file.h"
#include "config/values/status_macros.h"
#include "config/words/message.h"

namespace clusterd {
namespace {

// Sets how the connection locks, syncs and checks, before any other read;
// daemon/docs/decisions/0005-history-in-sqlite.md has the reasons.
constexpr char kPragmas[] =
    "PRAGMA locking_mode = EXCLUSIVE;"
    "PRAGMA journal_mode = TRUNCATE;"
    "PRAGMA synchronous = FULL;"
    "PRAGMA foreign_keys = ON;"
    "PRAGMA secure_delete = OFF;"
    "PRAGMA cell_size_check = ON;"
    "PRAGMA trusted_schema = OFF;"
    "PRAGMA temp_store = MEMORY;";

absl::Status Damaged(const SqliteDatabase& database, absl::string_view how) {
  return SqliteStatus(SQLITE_CORRUPT, 0, database.path(), how);
}

absl::Status CheckTables(const SqliteDatabase& database,
                         const SqliteFormat& kind) {
  ASSIGN_OR_RETURN(const int64_t application,
                   database.ReadNumber("PRAGMA application_id"));
  if (application != kind.application_id) {
    return Damaged(database, absl::StrCat("is not a ", kind.what,
                                          " of clusterd-controller"));
  }
  ASSIGN_OR_RETURN(const int64_t format,
                   database.ReadNumber("PRAGMA user_version"));
  if (format != kind.version) {
    return PreconditionWords("msg-hub-file-format", database.path(), format,
                             kind.version, kind.what);
  }
  std::string verdict;
  RETURN_IF_ERROR(database.Run(absl::StrCat("PRAGMA quick_check", kind.checked),
                               {}, [&](const SqliteRow& row) {
                                 if (verdict.empty()) verdict = row.Text(0);
                               }));
  return verdict == "ok" ? absl::OkStatus() : Damaged(database, verdict);
}

// Makes the file under another name and renames it. So a file under the right
// name was once complete: without tables it is damaged, not new.
absl::Status MakeFile(const std::string& path, const SqliteFormat& kind) {
  const std::string beside = absl::StrCat(path, ".new");
  std::remove(beside.c_str());
  std::remove(absl::StrCat(beside, "-journal").c_str());
  RETURN_IF_ERROR(WriteWholeFile(beside, "", 0600));
  {
    ASSIGN_OR_RETURN(const auto database, SqliteDatabase::Open(beside));
    const std::string sql =
        absl::StrCat(kind.before_tables, "BEGIN IMMEDIATE;", kind.tables,
                     "PRAGMA application_id = ", kind.application_id,
                     "; PRAGMA user_version = ", kind.version, "; COMMIT;");
    RETURN_IF_ERROR(database->Execute(sql.c_str()));
  }
  if (std::rename(beside.c_str(), path.c_str()) != 0) {
    return WriteStatus(path, errno);
  }
  if (SyncFolderOf(path)) return absl::OkStatus();
  return UnavailableWords("msg-hub-file-error", path, std::strerror(errno));
}

// Never opens the file itself: closing a descriptor releases SQLite's locks.
absl::Status PrepareFile(const std::string& path, const SqliteFormat& kind) {
  struct stat found;
  if (lstat(path.c_str(), &found) != 0) {
    return errno == ENOENT ? MakeFile(path, kind) : WriteStatus(path, errno);
  }
  if (!S_ISREG(found.st_mode)) {
    return PreconditionWords("msg-hub-not-a-regular-file", path, kind.what);
  }
  // Do not follow a link that has replaced the file since.
  if ((found.st_mode & 0077) != 0 &&
      fchmodat(AT_FDCWD, path.c_str(), 0600, AT_SYMLINK_NOFOLLOW) != 0) {
    return WriteStatus(path, errno);
  }
  return absl::OkStatus();
}

// SQLite accepts a truncated last page as complete.
absl::Status CheckLength(const SqliteDatabase& database) {
  ASSIGN_OR_RETURN(const int64_t pages,
                   database.ReadNumber("PRAGMA page_count"));
  ASSIGN_OR_RETURN(const int64_t page_bytes,
                   database.ReadNumber("PRAGMA page_size"));
  struct stat found;
  if (stat(database.path().c_str(), &found) != 0) {
    return WriteStatus(database.path(), errno);
  }
  const int64_t expected = pages * page_bytes;
  if (found.st_size >= expected) return absl::OkStatus();
  return Damaged(database, absl::StrCat("has ", found.st_size,
                                        " bytes, expected ", expected));
}

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

absl::StatusOr<OwnedFd> LockFolder(const std::string& folder) {
  OwnedFd lock(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!lock.is_open() && (errno == ENOENT || errno == ENOTDIR)) {
    return NotFoundWords("msg-hub-folder-not-there", folder,
                         std::strerror(errno));
  }
  if (lock.is_open() && flock(lock.get(), LOCK_EX | LOCK_NB) == 0) return lock;
  if (!lock.is_open() || errno != EWOULDBLOCK) {
    return DeniedWords("msg-hub-folder-not-opened", folder,
                       std::strerror(errno));
  }
  return UnavailableWords("msg-hub-folder-in-use", folder);
}

absl::StatusOr<std::unique_ptr<SqliteDatabase>> OpenSqliteFile(
    const std::string& path, const SqliteFormat& format) {
  RETURN_IF_ERROR(PrepareFile(path, format));
  ASSIGN_OR_RETURN(auto database, SqliteDatabase::Open(path));
  RETURN_IF_ERROR(database->Execute(kPragmas));
  RETURN_IF_ERROR(CheckTables(*database, format));
  RETURN_IF_ERROR(CheckLength(*database));
  return database;
}

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
      return DataLossWords("msg-hub-file-damaged", path, text);
    case SQLITE_FULL:
      return ExhaustedWords("msg-hub-disk-full", path);
    case SQLITE_NOMEM:
    case SQLITE_TOOBIG:
      return ExhaustedWords("msg-hub-file-too-large", path, because);
    case SQLITE_READONLY:
    case SQLITE_PERM:
    case SQLITE_AUTH:
    case SQLITE_CANTOPEN:
      return DeniedWords("msg-hub-file-not-written", path, because);
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return UnavailableWords("msg-hub-file-in-use", path);
    case SQLITE_IOERR:
      if (system == ENOSPC || system == EDQUOT || system == EFBIG) {
        return ExhaustedWords("msg-hub-file-cannot-grow", path, because);
      }
      return UnavailableWords("msg-hub-file-error", path, because);
    default:
      return InternalWords("msg-hub-file-error", path, because);
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
    return ExhaustedWords("msg-hub-file-too-large", path, "not enough memory");
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
  // errno belongs to the last system call that failed, maybe long ago.
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
