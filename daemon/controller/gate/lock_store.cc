#include "daemon/controller/gate/lock_store.h"

#include <sys/stat.h>

#include <cerrno>

#include "absl/strings/str_split.h"
#include "absl/time/time.h"
#include "config/identity/regular_file.h"
#include "config/values/sha256.h"
#include "config/values/status_macros.h"
#include "config/words/message.h"
#include "daemon/audit/audit_log.h"

namespace clusterd {
namespace {

constexpr SqliteFormat kFormat = {
    "record of locks",
    0x636c6c6b,  // "cllk"
    1,
    "",
    "CREATE TABLE identity_lock (identity TEXT PRIMARY KEY, entry BLOB NOT "
    "NULL) STRICT;"
    "CREATE TABLE list_age (issuer BLOB PRIMARY KEY, number TEXT NOT NULL, "
    "begins INTEGER NOT NULL, entries INTEGER NOT NULL) STRICT;",
    ""};

constexpr char kAccept[] = "accept";
constexpr size_t kMaxSumBytes = 4096;

// The line of locks.sum for these locks and ages.
std::string SumOf(const std::vector<LockEntry>& locks, const ListAges& ages) {
  std::string all;
  for (const LockEntry& lock : locks) {
    const std::string entry = lock.SerializeAsString();
    absl::StrAppend(&all, entry.size(), ":", entry);
  }
  for (const auto& [issuer, age] : ages) {
    absl::StrAppend(&all, issuer.size(), ":", issuer, age.number.size(), ":",
                    age.number, absl::ToUnixSeconds(age.begins), ":",
                    age.entries, ":");
  }
  return absl::StrCat(locks.size(), " ", Sha256Hex(all), "\n");
}

bool IsThere(const std::string& path) {
  struct stat found;
  return lstat(path.c_str(), &found) == 0 || errno != ENOENT;
}

// The number of locks that a line of locks.sum states.
absl::string_view CountOf(absl::string_view sum) {
  return sum.substr(0, sum.find(' '));
}

// DataLoss unless `found`, the sum of the file, is a line of locks.sum.
absl::Status CheckSum(const std::string& path, const std::string& known,
                      const std::string& found) {
  const std::vector<std::string> lines =
      absl::StrSplit(known, '\n', absl::SkipWhitespace());
  if (lines == std::vector<std::string>{kAccept}) return absl::OkStatus();
  for (const std::string& line : lines) {
    if (absl::StrCat(line, "\n") == found) return absl::OkStatus();
  }
  return DataLossWords("msg-hub-locks-differ", path, CountOf(found),
                       kLockSumFile, CountOf(known));
}

}  // namespace

absl::StatusOr<std::unique_ptr<LockStore>> LockStore::Open(
    const std::string& folder, bool is_new) {
  auto store = OpenFiles(folder, is_new);
  if (store.ok() || absl::IsUnavailable(store.status()) || !IsThere(folder)) {
    return store;
  }
  return WithWords(
      store.status(),
      Worded("msg-hub-locks-not-opened", MessageWords(store.status()),
             kLockFile, kLockSumFile, kAccept, kAuditFileName));
}

absl::StatusOr<std::unique_ptr<LockStore>> LockStore::OpenFiles(
    const std::string& folder, bool is_new) {
  const std::string path = absl::StrCat(folder, "/", kLockFile);
  const std::string sum = absl::StrCat(folder, "/", kLockSumFile);
  std::unique_ptr<LockStore> store(new LockStore(sum));
  const bool has_locks = IsThere(path);
  // Any of these files proves an earlier start, which wrote locks.sum.
  for (const char* later :
       {kLockFile, kLockSumFile, kAuditFileName, "trust.db"}) {
    is_new = is_new && !IsThere(absl::StrCat(folder, "/", later));
  }
  if (is_new) {
    RETURN_IF_ERROR(store->WriteSum(SumOf({}, {})));
  }
  ASSIGN_OR_RETURN(store->known_, ReadRegularFile(sum, kMaxSumBytes));
  if (!has_locks) {
    RETURN_IF_ERROR(CheckSum(path, store->known_, SumOf({}, {})));
  }
  ASSIGN_OR_RETURN(store->database_, OpenSqliteFile(path, kFormat));
  ASSIGN_OR_RETURN(const std::string found, store->Sum());
  RETURN_IF_ERROR(CheckSum(path, store->known_, found));
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

// After a crash at any point, one line of locks.sum matches locks.db.
absl::Status LockStore::Change(absl::string_view sql,
                               std::initializer_list<SqliteValue> values) {
  ASSIGN_OR_RETURN(const std::string before, Sum());
  RETURN_IF_ERROR(database_->Transact([&]() -> absl::Status {
    RETURN_IF_ERROR(database_->Run(sql, values));
    ASSIGN_OR_RETURN(const std::string after, Sum());
    return WriteSum(absl::StrCat(before, after));
  }));
  return Settle();
}

absl::StatusOr<std::string> LockStore::Sum() const {
  ASSIGN_OR_RETURN(const std::vector<LockEntry> locks, All());
  ASSIGN_OR_RETURN(const ListAges ages, AllListAges());
  return SumOf(locks, ages);
}

absl::Status LockStore::Settle() {
  ASSIGN_OR_RETURN(const std::string sum, Sum());
  return sum == known_ ? absl::OkStatus() : WriteSum(sum);
}

absl::Status LockStore::WriteSum(const std::string& text) {
  // After an error the file may have either sum, so the next Settle writes it.
  known_.clear();
  RETURN_IF_ERROR(ReplaceFile(sum_, text, 0600));
  known_ = text;
  return absl::OkStatus();
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
  return Change(
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
