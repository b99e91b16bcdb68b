// Identities that an admin has locked, and how new the revocation lists were
// that named others, in two files of the state folder:
//   locks.db   tables identity_lock and list_age, checked at the start as
//              trust.db is
//   locks.sum  how many locks there are, and the digest of both tables:
//              "2 3f6c…"; two such lines while one is written, of which either
//              may hold
// So a locks.db that is gone, emptied, damaged or an older one is an error at
// the start, and never a shorter list. Two older files that fit each other are
// not noticed. An admin who wants what is left of locks.db writes the one word
// "accept" into locks.sum.
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

// One thread at a time. All calls wait for the disk; errors are HistoryStore's.
class LockStore {
 public:
  // Makes the files, mode 0600, in a folder where no controller has run yet:
  // one without an audit file or trust.db that `is_new` as well, having no
  // history. REQUIRES: this process holds the folder's lock.
  // Errors as OpenSqliteFile, with what to do; DataLoss also if the locks are
  // not those of locks.sum.
  static absl::StatusOr<std::unique_ptr<LockStore>> Open(
      const std::string& folder, bool is_new = true);

  // On disk, synced, when it returns OK; the lock of that identity before is
  // replaced. After an error either may be there.
  absl::Status Put(const LockEntry& lock);
  absl::Status Remove(const std::string& identity);
  absl::StatusOr<std::vector<LockEntry>> All() const;
  // Has locks.sum say what locks.db has, and nothing else.
  absl::Status Settle();

  // The same for the newest list of an issuer; times are kept by the second.
  absl::Status PutListAge(absl::string_view issuer, const ListAge& age);
  absl::StatusOr<ListAges> AllListAges() const;

 private:
  explicit LockStore(std::string sum) : sum_(std::move(sum)) {}

  static absl::StatusOr<std::unique_ptr<LockStore>> OpenFiles(
      const std::string& folder, bool is_new);
  absl::Status Change(absl::string_view sql,
                      std::initializer_list<SqliteValue> values);
  absl::StatusOr<std::string> Sum() const;  // Of what locks.db has.
  absl::Status WriteSum(const std::string& text);

  const std::string sum_;  // Its path,
  std::string known_;      // and what it says.
  std::unique_ptr<SqliteDatabase> database_;
};

}  // namespace clusterd

#endif  // DAEMON_CONTROLLER_GATE_LOCK_STORE_H_
