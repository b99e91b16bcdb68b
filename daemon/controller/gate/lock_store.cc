#include "daemon/controller/gate/lock_store.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "config/identity/regular_file.h"
#include "config/values/sha256.h"
#include "config/values/status_macros.h"
#include "daemon/audit/audit_log.h"
#include "daemon/controller/history/sqlite_file.h"

namespace clusterd {
namespace {

constexpr SqliteFormat kFormat = {
    "record of locks",
    0x636c6c6b,  // "cllk"
    1,
    "",
    "CREATE TABLE identity_lock (identity TEXT PRIMARY KEY, entry BLOB NOT "
    "NULL) STRICT;",
    ""};

constexpr char kAccept[] = "accept";
constexpr size_t kMaxSumBytes = 4096;

// What locks.sum says of these locks.
std::string SumOf(const std::vector<LockEntry>& locks) {
  std::string all;
  for (const LockEntry& lock : locks) {
    const std::string entry = lock.SerializeAsString();
    absl::StrAppend(&all, entry.size(), ":", entry);
  }
  return absl::StrCat(locks.size(), " ", Sha256Hex(all), "\n");
}

bool IsThere(const std::string& path) {
  struct stat found;
  return lstat(path.c_str(), &found) == 0 || errno != ENOENT;
}

// DataLoss unless locks.sum names this state of the locks.
absl::Status CheckSum(const std::string& path, const std::string& known,
                      const std::vector<LockEntry>& locks) {
  const std::vector<std::string> lines =
      absl::StrSplit(known, '\n', absl::SkipWhitespace());
  if (lines == std::vector<std::string>{kAccept}) return absl::OkStatus();
  for (const std::string& line : lines) {
    if (absl::StrCat(line, "\n") == SumOf(locks)) return absl::OkStatus();
  }
  return absl::DataLossError(
      absl::StrCat(path, ": has ", locks.size(), " locks, not those that ",
                   kLockSumFile, " counts (", known.substr(0, known.find(' ')),
                   "): it is gone, damaged or an older one"));
}

}  // namespace

absl::StatusOr<std::unique_ptr<LockStore>> LockStore::Open(
    const std::string& folder) {
  auto store = OpenFiles(folder);
  if (store.ok() || absl::IsUnavailable(store.status()) || !IsThere(folder)) {
    return store;
  }
  return absl::Status(
      store.status().code(),
      absl::StrCat(store.status().message(), "; restore ", kLockFile, " and ",
                   kLockSumFile, " from the same backup; or move a damaged ",
                   kLockFile, " away, write the word ", kAccept, " into ",
                   kLockSumFile,
                   " to go on with the locks that are left, and "
                   "lock again whom ",
                   kAuditFileName, " names"));
}

absl::StatusOr<std::unique_ptr<LockStore>> LockStore::OpenFiles(
    const std::string& folder) {
  const std::string path = absl::StrCat(folder, "/", kLockFile);
  const std::string sum = absl::StrCat(folder, "/", kLockSumFile);
  const int fd = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return FileStatus(path, errno);
  const auto closes = absl::MakeCleanup([fd] { close(fd); });
  std::unique_ptr<LockStore> store(new LockStore(sum));
  const bool has_locks = IsThere(path);
  // The sum comes first: locks without it have lost it.
  if (!has_locks && !IsThere(sum) &&
      !IsThere(absl::StrCat(folder, "/", kAuditFileName))) {
    RETURN_IF_ERROR(store->WriteSum(SumOf({})));
  }
  ASSIGN_OR_RETURN(store->known_, ReadRegularFile(sum, kMaxSumBytes));
  if (!has_locks) RETURN_IF_ERROR(CheckSum(path, store->known_, {}));
  ASSIGN_OR_RETURN(store->database_, OpenSqliteFile(path, fd, kFormat));
  ASSIGN_OR_RETURN(const std::vector<LockEntry> locks, store->All());
  RETURN_IF_ERROR(CheckSum(path, store->known_, locks));
  return store;
}

absl::Status LockStore::Put(const LockEntry& lock) {
  return Change(
      "INSERT OR REPLACE INTO identity_lock (identity, entry) VALUES (?1, ?2)",
      {lock.identity(), SqliteBlob{lock.SerializeAsString()}});
}

absl::Status LockStore::Remove(const std::string& identity) {
  return Change("DELETE FROM identity_lock WHERE identity = ?1", {identity});
}

// A crash at any point leaves locks that one line of the sum names.
absl::Status LockStore::Change(absl::string_view sql,
                               std::initializer_list<SqliteValue> values) {
  ASSIGN_OR_RETURN(const std::vector<LockEntry> before, All());
  RETURN_IF_ERROR(database_->Transact([&]() -> absl::Status {
    RETURN_IF_ERROR(database_->Run(sql, values));
    ASSIGN_OR_RETURN(const std::vector<LockEntry> after, All());
    return WriteSum(absl::StrCat(SumOf(before), SumOf(after)));
  }));
  return Settle();
}

absl::Status LockStore::Settle() {
  ASSIGN_OR_RETURN(const std::vector<LockEntry> locks, All());
  const std::string sum = SumOf(locks);
  return sum == known_ ? absl::OkStatus() : WriteSum(sum);
}

absl::Status LockStore::WriteSum(const std::string& text) {
  const std::string beside = absl::StrCat(sum_, ".new");
  std::remove(beside.c_str());
  const int fd = open(beside.c_str(),
                      O_CREAT | O_EXCL | O_WRONLY | O_SYNC | O_CLOEXEC, 0600);
  if (fd < 0) return FileStatus(beside, errno);
  const auto closes = absl::MakeCleanup([fd] { close(fd); });
  if (write(fd, text.data(), text.size()) !=
          static_cast<ssize_t>(text.size()) ||
      std::rename(beside.c_str(), sum_.c_str()) != 0) {
    return FileStatus(beside, errno);
  }
  known_ = text;
  // Makes the new name last.
  const int folder = open(sum_.substr(0, sum_.rfind('/')).c_str(),
                          O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const auto also = absl::MakeCleanup([folder] { close(folder); });
  return fsync(folder) == 0 ? absl::OkStatus() : FileStatus(sum_, errno);
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

}  // namespace clusterd
