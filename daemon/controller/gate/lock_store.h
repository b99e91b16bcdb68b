// Identities that an admin has locked, and how new the revocation lists were
// that named others, on disk:
//   /var/lib/clusterd-controller/locks.db, tables identity_lock, list_age
// Others keep tables of their own in that file, over connections of their own.
// A file that cannot be read is an error of whoever opens it: nobody could tell
// who is locked.
#ifndef DAEMON_CONTROLLER_GATE_LOCK_STORE_H_
#define DAEMON_CONTROLLER_GATE_LOCK_STORE_H_

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

// One thread at a time. All calls wait for the disk; errors are HistoryStore's.
class LockStore {
 public:
  // Makes the file, mode 0600, if it is not there. The folder has to be there.
  static absl::StatusOr<std::unique_ptr<LockStore>> Open(
      const std::string& folder);

  // On disk, synced, when it returns OK; the lock of that identity before is
  // replaced.
  absl::Status Put(const LockEntry& lock);
  absl::Status Remove(const std::string& identity);
  absl::StatusOr<std::vector<LockEntry>> All() const;

  // The same for the newest list of an issuer; times are kept by the second.
  absl::Status PutListAge(absl::string_view issuer, const ListAge& age);
  absl::StatusOr<ListAges> AllListAges() const;

 private:
  explicit LockStore(std::unique_ptr<SqliteDatabase> database)
      : database_(std::move(database)) {}

  const std::unique_ptr<SqliteDatabase> database_;
};

}  // namespace clusterd

#endif  // DAEMON_CONTROLLER_GATE_LOCK_STORE_H_
