// The tokens of this controller, and its records of each host's key, in one
// SQLite file of its state folder:
//   /var/lib/clusterd-controller/trust.db (and trust.db-journal)
//   token  id, record       a serialized TokenRecord
//   host   name, record     a serialized HostRecord
// All of it is in memory, too: reading never waits for the disk.
#ifndef DAEMON_CONTROLLER_TRUST_TRUST_STORE_H_
#define DAEMON_CONTROLLER_TRUST_TRUST_STORE_H_

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "daemon/controller/history/sqlite_database.h"
#include "proto/trust.pb.h"

namespace clusterd {

inline constexpr char kTrustFile[] = "trust.db";

// Safe for concurrent use. Writes are synced to disk when they return OK, and
// may wait for it: not for a thread that must not block. After an error the
// store is unchanged. Errors as HistoryStore.
class TrustStore {
 public:
  // REQUIRES: this process holds the folder's lock (sqlite_database.h). Errors
  // as OpenSqliteFile; DataLoss also for a record that cannot be read.
  static absl::StatusOr<std::unique_ptr<TrustStore>> Open(
      const std::string& folder);

  // Nullopt if the id or name is unknown.
  std::optional<TokenRecord> Token(const std::string& id) const
      ABSL_LOCKS_EXCLUDED(mutex_);
  std::optional<HostRecord> Host(const std::string& name) const
      ABSL_LOCKS_EXCLUDED(mutex_);
  // Sorted by id and by name. Hosts are many, so they are not copied.
  std::vector<TokenRecord> Tokens() const ABSL_LOCKS_EXCLUDED(mutex_);
  std::vector<std::shared_ptr<const HostRecord>> Hosts() const
      ABSL_LOCKS_EXCLUDED(mutex_);

  absl::Status Put(const TokenRecord& token) ABSL_LOCKS_EXCLUDED(mutex_);
  // Writes both or neither. `token` is the one that the host has used.
  absl::Status Put(const HostRecord& host, const TokenRecord* token = nullptr)
      ABSL_LOCKS_EXCLUDED(mutex_);
  // OK even if it does not exist.
  absl::Status DropToken(const std::string& id) ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  explicit TrustStore(std::unique_ptr<SqliteDatabase> database)
      : database_(std::move(database)) {}

  absl::Status Load() ABSL_LOCKS_EXCLUDED(mutex_, disk_mutex_);

  // Held while writing to the disk; taken before mutex_.
  absl::Mutex disk_mutex_;
  const std::unique_ptr<SqliteDatabase> database_
      ABSL_PT_GUARDED_BY(disk_mutex_);
  mutable absl::Mutex mutex_;
  std::map<std::string, std::shared_ptr<const TokenRecord>> tokens_
      ABSL_GUARDED_BY(mutex_);
  std::map<std::string, std::shared_ptr<const HostRecord>> hosts_
      ABSL_GUARDED_BY(mutex_);
};

}  // namespace clusterd

#endif  // DAEMON_CONTROLLER_TRUST_TRUST_STORE_H_
