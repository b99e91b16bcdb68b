// The history of this cluster's controller: checks, plans, applies, rollbacks,
// in one SQLite file of its state folder:
//   /var/lib/clusterd-controller/history.db (and history.db-journal)
// Each has one line (HistoryEntry) and a detail, which only Get reads.
//
// An apply is added before its first host is asked, with the outcome "running",
// and updated when it ends; one that is still "running" at the controller's
// start was interrupted. Checks and plans are added when they have ended.
//
// A store that could not be opened is closed: checks and plans still run but
// are not kept, and applies or rollbacks cannot begin, because Add fails.
#ifndef DAEMON_CONTROLLER_HISTORY_HISTORY_STORE_H_
#define DAEMON_CONTROLLER_HISTORY_HISTORY_STORE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "daemon/controller/history/sqlite_database.h"
#include "daemon/process/log.h"
#include "proto/controller.pb.h"

namespace clusterd {

// The history's file. One controller holds its folder.
//   entry   position, id, kind, running, open, bytes and sha256 of the detail,
//           entry
//   detail  position, record
// `entry` holds a serialized HistoryEntry, `record` the rest of its
// HistoryRecord, its report without the texts that RenderReport writes. Queries
// search the other columns.
inline constexpr char kHistoryFile[] = "history.db";

// user_version of the file. Raise it if older controllers would misread it.
inline constexpr int kHistoryFormat = 5;

struct HistoryFile {
  OwnedFd lock;
  std::unique_ptr<SqliteDatabase> database;
};

// Makes the file (mode 0600) if it does not exist.
//   NotFound            the folder does not exist
//   Unavailable         another controller uses it; or the disk does not read
//   FailedPrecondition  a controller of another format made it; or not a file
//   DataLoss            not a history, or the list is damaged (a damaged
//                       detail shows when it is read); the file stays as it
//                       is, and is never replaced by an empty one
//   others              as HistoryStore
absl::StatusOr<HistoryFile> OpenHistoryFile(const std::string& folder);

inline constexpr uint32_t kDefaultListedEntries = 50;
inline constexpr uint32_t kMaxListedEntries = 1000;

// Ids have kMinHistoryIdBytes to kMaxHistoryIdBytes of 0-9, a-z and "-";
// usually 16 hex digits.
inline constexpr size_t kMinHistoryIdBytes = 4;
inline constexpr size_t kMaxHistoryIdBytes = 64;

// True if every byte may be part of an id.
bool IsHistoryIdText(absl::string_view text);

// The outcome of an entry that has not ended.
inline constexpr char kRunningOutcome[] = "running";

// Bounds of the history; the one that is met first counts. Then the oldest
// entries are dropped in this order, but never a running one:
//   1. checks of an actor over its share of both bounds: an eighth for a user,
//      a thirty-second for a host
//   2. checks by schedule or by hosts, while those of users hold at most an
//      eighth
//   3. checks, while plans hold at most a quarter
//   4. checks and plans, while applies and rollbacks hold at most half
//   5. any entry
// So checks before every job never displace changes or plans that wait for
// their apply. Before all others, scheduled checks without changes are dropped.
// The newest kKeptUnchanged of each schedule stay, and the one before each
// change, for comparison.
struct HistoryLimits {
  int64_t max_entries = 2000;
  // The sum of the serialized details.
  int64_t max_bytes = 512 << 20;
};

inline constexpr int kKeptUnchanged = 8;
// The part of both limits that the checks of one actor may use.
inline constexpr int64_t kShareOfPerson = 8;
inline constexpr int64_t kShareOfHost = 32;

struct KeptEntry {
  int64_t position = 0;  // Increases with every added entry.
  HistoryKind kind = HISTORY_KIND_UNSPECIFIED;
  bool running = false;
  int64_t bytes = 0;          // Size of the detail.
  std::string schedule = {};  // Name, if scheduled.
  std::string actor = {};     // The caller if not scheduled.
  bool changed = false;       // Since the schedule's last check.
};

// Positions to drop so that `kept`, oldest first, and `coming` fit the limits
// as HistoryLimits says; too few if only running entries are left. Pure.
std::vector<int64_t> ChooseForRemoval(const std::vector<KeptEntry>& kept,
                                      const KeptEntry& coming,
                                      const HistoryLimits& limits);

inline constexpr size_t kMaxOpenRecords = 64;
// Oldest first. DataLoss, naming it, for each unreadable one.
using OpenRecords = std::vector<absl::StatusOr<HistoryRecord>>;

// Safe for concurrent use. Calls may wait for the disk: not for a thread that
// must not block, and not under a lock. "Newest" is the entry added last, even
// if the clock was set back in between.
//
// Besides its own errors every call may return:
//   DataLoss            the file is damaged; the message says what to do
//   ResourceExhausted   the disk is full
//   PermissionDenied    the file or its folder cannot be written
//   Unavailable         the disk does not read or write
//   FailedPrecondition  the store is closed
// After an error of Add or Update the store is as it was before the call.
class HistoryStore {
 public:
  // Takes the folder's lock, makes the file (mode 0600) if it does not exist,
  // and rolls back an interrupted write. A read-only file can still be listed
  // and read. Errors as in OpenHistoryFile.
  static absl::StatusOr<std::unique_ptr<HistoryStore>> Open(
      const std::string& folder, HistoryLimits limits = {});
  // `why`: the error from opening it, not OK.
  static std::unique_ptr<HistoryStore> Closed(const absl::Status& why);

  // Synced to disk when it returns OK. It makes room first, so older entries
  // may be dropped. InvalidArgument for an invalid id or kind, AlreadyExists
  // for a known id, ResourceExhausted for a detail over max_bytes.
  absl::Status Add(const HistoryRecord& record) ABSL_LOCKS_EXCLUDED(mutex_) {
    return Write(record, /*is_new=*/true);
  }

  // Like Add, but logs if the entry could not be kept.
  absl::Status AddOrLog(const HistoryRecord& record, Log* log)
      ABSL_LOCKS_EXCLUDED(mutex_);

  // Replaces entry and detail of the record with this id, which keeps its place
  // in the list. NotFound for an unknown id; otherwise as Add.
  absl::Status Update(const HistoryRecord& record) ABSL_LOCKS_EXCLUDED(mutex_) {
    return Write(record, /*is_new=*/false);
  }

  // Lists as ListHistoryRequest says; before_id may be a prefix as in Get.
  // InvalidArgument for an invalid kind or a limit over kMaxListedEntries;
  // NotFound if before_id does not exist.
  absl::StatusOr<ListHistoryResponse> List(
      const ListHistoryRequest& request) const ABSL_LOCKS_EXCLUDED(mutex_);

  // The schedule's checks, newest first.
  absl::StatusOr<std::vector<HistoryEntry>> NewestOfSchedule(
      absl::string_view schedule, size_t limit) const
      ABSL_LOCKS_EXCLUDED(mutex_);

  // The record with this id; if there is none, the only one whose id begins
  // with it. NotFound if none does; InvalidArgument for an invalid id, or if
  // several do, naming the first candidates.
  absl::StatusOr<HistoryRecord> Get(absl::string_view id) const
      ABSL_LOCKS_EXCLUDED(mutex_);

  // Like Get, but only for an apply that a rollback may revert. NotFound,
  // naming the kind, if the id is that of another record.
  absl::StatusOr<HistoryRecord> FindApply(absl::string_view apply_id) const
      ABSL_LOCKS_EXCLUDED(mutex_);

  // The newest kMaxOpenRecords with the outcome "running", or with hosts whose
  // result may still change. A damaged record does not hide others.
  absl::StatusOr<OpenRecords> FindOpen() const ABSL_LOCKS_EXCLUDED(mutex_);

  // Waivers are stored beside the entries; the limits never drop one.
  absl::Status PutWaiver(const Waiver& waiver) ABSL_LOCKS_EXCLUDED(mutex_);
  absl::Status DropWaiver(absl::string_view id) ABSL_LOCKS_EXCLUDED(mutex_);
  // Sorted by id.
  absl::StatusOr<std::vector<Waiver>> Waivers() const
      ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  HistoryStore(HistoryFile file, HistoryLimits limits, absl::Status closed)
      : closed_(std::move(closed)),
        limits_(limits),
        lock_(std::move(file.lock)),
        database_(std::move(file.database)) {}

  absl::Status Write(const HistoryRecord& record, bool is_new)
      ABSL_LOCKS_EXCLUDED(mutex_);
  absl::Status WriteLocked(const HistoryRecord& record)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status MakeRoomLocked(const HistoryEntry& entry, int64_t bytes)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // The kind of the entry with exactly this id; nullopt: not found.
  absl::StatusOr<std::optional<HistoryKind>> KindOfLocked(
      absl::string_view id) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // The position of the entry with this id or prefix; `kind` may be
  // unspecified.
  absl::StatusOr<int64_t> ResolveLocked(absl::string_view id,
                                        HistoryKind kind) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::StatusOr<HistoryRecord> ReadLocked(int64_t position) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const absl::Status closed_;  // If not OK, there is no file.
  const HistoryLimits limits_;
  const OwnedFd lock_;  // None if closed.
  mutable absl::Mutex mutex_;
  const std::unique_ptr<SqliteDatabase> database_ ABSL_PT_GUARDED_BY(mutex_);
};

// Opens the history at the controller's start. Makes the folder, mode 0700, if
// only its parent exists.
//   the history                               the controller
//   opens                                     runs
//   is damaged, of another format, or         runs with a closed one: checks
//   cannot be made or read                    and plans are not kept, applies
//                                             and rollbacks are refused; logged
//   is another controller's, or its folder    does not start: the error is that
//   cannot be made                            of the lock, or names --state
absl::StatusOr<std::unique_ptr<HistoryStore>> OpenHistory(
    const std::string& state_folder, Log* log);

}  // namespace clusterd

#endif  // DAEMON_CONTROLLER_HISTORY_HISTORY_STORE_H_
