// Identities that an admin has locked, and the ages of the revocation lists
// that named others, in two files of the state folder:
//   locks.db   tables identity_lock and list_age, checked at the start as
//              trust.db is
//   locks.sum  the number of locks and the digest of both tables:
//              "2 3f6c…"; two such lines during a write; either may hold
// So a lost, emptied, damaged or older locks.db is an error at the start, and
// never a shorter list. Two older files that match each other go unnoticed. To
// accept the rest of locks.db, an admin writes the word "accept" to locks.sum.
#ifndef DAEMON_CONTROLLER_GATE_LOCK_STORE_H_
#define DAEMON_CONTROLLER_GATE_LOCK_STORE_H_

#include <initializer_list>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "config/identity/revocation_list.h"
#include "daemon/controller/history/sqlite_database.h"
#include "proto/controller.pb.h"

namespace clusterd {

inline constexpr char kLockFile[] = "locks.db";
inline constexpr char kLockSumFile[] = "locks.sum";

// For one thread at a time. Calls wait for the disk; errors as HistoryStore.
class LockStore {
 public:
  // Makes the files, mode 0600, in the folder of a new controller: without an
  // audit file or trust.db, and `is_new`: without a history. Errors as
  // OpenSqliteFile, with what to do; DataLoss also if the locks do not match
  // locks.sum. REQUIRES: this process holds the folder's lock.
  static absl::StatusOr<std::unique_ptr<LockStore>> Open(
      const std::string& folder, bool is_new = true);

  // Synced to disk when it returns OK; replaces an earlier lock of the
  // identity. After an error, either the old or the new lock is stored.
  absl::Status Put(const LockEntry& lock);
  absl::Status Remove(const std::string& identity);
  absl::StatusOr<std::vector<LockEntry>> All() const;
  // Makes locks.sum match locks.db exactly.
  absl::Status Settle();

  // The same for the newest list of an issuer; times are rounded to seconds.
  absl::Status PutListAge(absl::string_view issuer, const ListAge& age);
  absl::StatusOr<ListAges> AllListAges() const;

 private:
  explicit LockStore(std::string sum) : sum_(std::move(sum)) {}

  static absl::StatusOr<std::unique_ptr<LockStore>> OpenFiles(
      const std::string& folder, bool is_new);
  absl::Status Change(absl::string_view sql,
                      std::initializer_list<SqliteValue> values);
  absl::StatusOr<std::string> Sum() const;  // Sum of locks.db.
  absl::Status WriteSum(const std::string& text);

  const std::string sum_;  // Path of locks.sum.
  std::string known_;      // Content of locks.sum.
  std::unique_ptr<SqliteDatabase> database_;
};

}  // namespace clusterd

#endif  // DAEMON_CONTROLLER_GATE_LOCK_STORE_H_
