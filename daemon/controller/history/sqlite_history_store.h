// The history in one file of the controller's state folder, through SQLite:
//   /var/lib/clusterd-controller/history.db (and history.db-journal)
#ifndef DAEMON_CONTROLLER_HISTORY_SQLITE_HISTORY_STORE_H_
#define DAEMON_CONTROLLER_HISTORY_SQLITE_HISTORY_STORE_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "daemon/controller/history/folder_lock.h"
#include "daemon/controller/history/history_store.h"
#include "daemon/controller/history/sqlite_database.h"

namespace clusterd {

inline constexpr char kHistoryFile[] = "history.db";

class SqliteHistoryStore final : public HistoryStore {
 public:
  // Takes the folder's lock, makes the file (mode 0600) if there is none, and
  // takes back what a crash left half written. A file that cannot be written
  // can still be listed and read.
  //   NotFound            there is no such folder
  //   Unavailable         another controller uses it; or the disk does not read
  //   FailedPrecondition  a newer controller made the file, or it is no file
  //   DataLoss            it is damaged; it stays as it is, and is never
  //                       replaced by an empty one
  //   others              as HistoryStore
  static absl::StatusOr<std::unique_ptr<SqliteHistoryStore>> Open(
      const std::string& folder, HistoryLimits limits = {});

  // Gone with the store; for tests.
  static absl::StatusOr<std::unique_ptr<SqliteHistoryStore>> InMemory(
      HistoryLimits limits = {});

  absl::Status Add(const HistoryRecord& record)
      ABSL_LOCKS_EXCLUDED(mutex_) override;
  absl::Status Update(const HistoryRecord& record)
      ABSL_LOCKS_EXCLUDED(mutex_) override;
  absl::StatusOr<ListHistoryResponse> List(const ListHistoryRequest& request)
      const ABSL_LOCKS_EXCLUDED(mutex_) override;
  absl::StatusOr<HistoryRecord> Get(absl::string_view id) const
      ABSL_LOCKS_EXCLUDED(mutex_) override;
  absl::StatusOr<HistoryRecord> FindApply(absl::string_view apply_id) const
      ABSL_LOCKS_EXCLUDED(mutex_) override;
  absl::StatusOr<RunningRecords> FindRunning() const
      ABSL_LOCKS_EXCLUDED(mutex_) override;

 private:
  SqliteHistoryStore(std::unique_ptr<FolderLock> lock,
                     std::unique_ptr<SqliteDatabase> database,
                     HistoryLimits limits);

  absl::Status WriteLocked(const HistoryRecord& record,
                           std::optional<int64_t> place)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status MakeRoomLocked(const HistoryRecord& record, int64_t bytes,
                              std::optional<int64_t> place)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status ShrinkLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // nullopt: no entry has exactly this id.
  absl::StatusOr<std::optional<int64_t>> PlaceOfLocked(
      const std::string& id) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // The place of the one entry that an id or prefix names. `kind`: unspecified
  // for any.
  absl::StatusOr<int64_t> ResolveLocked(absl::string_view id,
                                        HistoryKind kind) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::StatusOr<HistoryRecord> ReadLocked(int64_t place) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const std::unique_ptr<FolderLock> lock_;  // None in memory.
  const HistoryLimits limits_;
  mutable absl::Mutex mutex_;
  const std::unique_ptr<SqliteDatabase> database_ ABSL_PT_GUARDED_BY(mutex_);
};

}  // namespace clusterd

#endif  // DAEMON_CONTROLLER_HISTORY_SQLITE_HISTORY_STORE_H_
