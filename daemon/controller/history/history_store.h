// What this cluster's controller has done: checks, plans, applies, rollbacks.
// Each has one line (HistoryEntry) and a detail, which only Get reads.
//
// An apply is added before its first host is asked, with the outcome "running",
// and updated when it ends; what is still "running" when a controller starts
// was cut off. Checks and plans are added when they have ended.
//
// SqliteHistoryStore keeps it on disk, ClosedHistoryStore stands for one that
// could not be opened: with it checks and plans still run and are not kept,
// and no apply or rollback may begin, because Add fails.
#ifndef DAEMON_CONTROLLER_HISTORY_HISTORY_STORE_H_
#define DAEMON_CONTROLLER_HISTORY_HISTORY_STORE_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "proto/controller.pb.h"

namespace clusterd {

// What is kept, whichever bound is met first. Then the oldest go: checks and
// plans as long as applies and rollbacks hold at most half of both bounds, and
// of these checks as long as plans hold at most a quarter, so that checks
// before every job wash away neither who changed what nor a plan that waits for
// its apply. Never one that is running.
struct HistoryLimits {
  int64_t max_entries = 2000;
  // Of the details, serialized.
  int64_t max_bytes = 512 << 20;
};

inline constexpr uint32_t kDefaultListedEntries = 50;
inline constexpr uint32_t kMaxListedEntries = 1000;

// Ids: kMinHistoryIdBytes to kMaxHistoryIdBytes of 0-9, a-z and "-"; as a rule
// 16 hex digits.
inline constexpr size_t kMinHistoryIdBytes = 4;
inline constexpr size_t kMaxHistoryIdBytes = 64;

// The outcome of an entry that has not ended.
inline constexpr char kRunningOutcome[] = "running";

struct RunningRecords {
  // Oldest first.
  std::vector<HistoryRecord> records;
  // DataLoss, naming it, for each one that cannot be read.
  std::vector<absl::Status> damaged;
};

// Safe for concurrent use. Calls may wait for the disk: not for a thread that
// must not block, and not under a lock. "Newest" is what was added last, also
// when the clock was set back in between.
//
// Besides its own errors every call may give:
//   DataLoss            the file is damaged; the message says what to do
//   ResourceExhausted   the disk is full
//   PermissionDenied    the file or its folder cannot be written
//   Unavailable         the disk does not read or write
//   FailedPrecondition  the store is closed
// After an error of Add or Update the store is as it was before the call.
class HistoryStore {
 public:
  virtual ~HistoryStore() = default;

  // On disk, synced, when it returns OK. Makes room first, so older entries
  // may be gone then. InvalidArgument for an id or kind that is none,
  // AlreadyExists for an id that is there, ResourceExhausted for a detail over
  // max_bytes.
  virtual absl::Status Add(const HistoryRecord& record) = 0;

  // Replaces entry and detail of the record with this id; its place in the list
  // stays. NotFound if there is none. Otherwise as Add.
  virtual absl::Status Update(const HistoryRecord& record) = 0;

  // As the comments of ListHistoryRequest say; before_id may be a prefix as in
  // Get. InvalidArgument for a kind that is none or a limit over
  // kMaxListedEntries; NotFound for a before_id that is gone.
  virtual absl::StatusOr<ListHistoryResponse> List(
      const ListHistoryRequest& request) const = 0;

  // The record with this id, or else the only one whose id begins with it.
  // NotFound if there is none; InvalidArgument, naming the first candidates, if
  // there are several, or if it is no id.
  virtual absl::StatusOr<HistoryRecord> Get(absl::string_view id) const = 0;

  // As Get, among the applies alone: what a rollback takes back. NotFound, with
  // its kind, for the whole id of something else.
  virtual absl::StatusOr<HistoryRecord> FindApply(
      absl::string_view apply_id) const = 0;

  // What has the outcome "running". One that is damaged does not hide the
  // others.
  virtual absl::StatusOr<RunningRecords> FindRunning() const = 0;
};

}  // namespace clusterd

#endif  // DAEMON_CONTROLLER_HISTORY_HISTORY_STORE_H_
