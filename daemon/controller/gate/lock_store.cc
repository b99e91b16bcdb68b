#include "daemon/controller/gate/lock_store.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "config/identity/regular_file.h"
#include "config/values/status_macros.h"

namespace clusterd {
namespace {

// Another connection of this process may be writing for a moment.
constexpr char kPrepare[] =
    "PRAGMA busy_timeout = 5000;"
    "PRAGMA synchronous = FULL;"
    "PRAGMA trusted_schema = OFF;"
    "CREATE TABLE IF NOT EXISTS identity_lock ("
    "  identity TEXT PRIMARY KEY,"
    "  entry BLOB NOT NULL"
    ") STRICT;"
    "CREATE TABLE IF NOT EXISTS list_age ("
    "  issuer BLOB PRIMARY KEY,"
    "  number TEXT NOT NULL,"
    "  begins INTEGER NOT NULL,"
    "  entries INTEGER NOT NULL"
    ") STRICT;";

// An empty file is a database without tables.
absl::Status MakeFile(const std::string& path) {
  const int fd =
      open(path.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600);
  if (fd >= 0) {
    close(fd);
    return absl::OkStatus();
  }
  if (errno != EEXIST) return FileStatus(path, errno);
  struct stat found = {};
  if (lstat(path.c_str(), &found) != 0) return FileStatus(path, errno);
  if (!S_ISREG(found.st_mode)) {
    return absl::FailedPreconditionError(
        absl::StrCat(path, ": not a regular file, expected our own"));
  }
  if ((found.st_mode & 0077) != 0 &&
      fchmodat(AT_FDCWD, path.c_str(), 0600, AT_SYMLINK_NOFOLLOW) != 0) {
    return FileStatus(path, errno);
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::unique_ptr<LockStore>> LockStore::Open(
    const std::string& folder) {
  const std::string path = absl::StrCat(folder, "/", kLockFile);
  RETURN_IF_ERROR(MakeFile(path));
  ASSIGN_OR_RETURN(auto database, SqliteDatabase::Open(path));
  RETURN_IF_ERROR(database->Execute(kPrepare));
  std::unique_ptr<LockStore> store(new LockStore(std::move(database)));
  RETURN_IF_ERROR(store->All().status());
  return store;
}

absl::Status LockStore::Put(const LockEntry& lock) {
  const std::string entry = lock.SerializeAsString();
  return database_->Run(
      "INSERT OR REPLACE INTO identity_lock (identity, entry) VALUES (?1, ?2)",
      {absl::string_view(lock.identity()), SqliteBlob{entry}});
}

absl::Status LockStore::Remove(const std::string& identity) {
  return database_->Run("DELETE FROM identity_lock WHERE identity = ?1",
                        {absl::string_view(identity)});
}

absl::StatusOr<std::vector<LockEntry>> LockStore::All() const {
  std::vector<LockEntry> locks;
  bool whole = true;
  RETURN_IF_ERROR(database_->Run(
      "SELECT identity, entry FROM identity_lock ORDER BY identity", {},
      [&](const SqliteRow& row) {
        LockEntry& lock = locks.emplace_back();
        whole = whole && lock.ParseFromString(std::string(row.Blob(1))) &&
                lock.identity() == row.Text(0);
      }));
  if (whole) return locks;
  return SqliteStatus(SQLITE_CORRUPT, 0, database_->path(),
                      "a lock that cannot be read");
}

absl::Status LockStore::PutListAge(absl::string_view issuer,
                                   const ListAge& age) {
  return database_->Run(
      "INSERT OR REPLACE INTO list_age (issuer, number, begins, entries) "
      "VALUES (?1, ?2, ?3, ?4)",
      {SqliteBlob{issuer}, absl::string_view(age.number),
       absl::ToUnixSeconds(age.begins), static_cast<int64_t>(age.entries)});
}

absl::StatusOr<ListAges> LockStore::AllListAges() const {
  ListAges ages;
  RETURN_IF_ERROR(database_->Run(
      "SELECT issuer, number, begins, entries FROM list_age", {},
      [&ages](const SqliteRow& row) {
        ages[row.Text(0)] = {row.Text(1), absl::FromUnixSeconds(row.Int(2)),
                             static_cast<size_t>(row.Int(3))};
      }));
  return ages;
}

}  // namespace clusterd
