// A daemon's record of who changed what, and of refused calls. A line is on the
// disk before its effect begins:
//   RETURN_IF_ERROR(audit->Begin(entry));   // Refused unless it is written.
//   … the effect …
//   audit->End(entry, "cancelled in wave 2");
// Reads are not audited and go on without a file. The chain of lines:
// config/audit/audit_chain.h.
//
// Equal refusals (one caller, one call, one status code) are one line and, a
// minute after it, one more with their number; beyond 256 different ones in a
// minute, or while the disk hangs, the rest count as one: a flood costs at most
// some 150 kB a minute. A refusal never waits for the disk. A change waits for
// `hung_after`, and is refused at once after one that has waited in vain.
//
// Full files are never deleted: a caller who fills them could make the daemon
// forget. A host, whose controller is not trusted with its disk, bounds how
// fast they grow (AuditLimits): a year of a controller that does nothing else
// is 5.1 GiB. Reads have a further quarter of their own, so that constant
// reading of logs never blocks a confirmation. Without room nothing begins,
// refusals are only counted, and heads of other files wait; results of begun
// effects are written.
#ifndef DAEMON_AUDIT_AUDIT_LOG_H_
#define DAEMON_AUDIT_AUDIT_LOG_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "config/audit/audit_chain.h"
#include "config/values/owned_fd.h"
#include "daemon/process/allowance.h"
#include "daemon/process/callback_gate.h"
#include "daemon/process/log.h"
#include "daemon/process/scheduler.h"
#include "daemon/process/worker_pool.h"
#include "proto/audit.pb.h"

namespace clusterd {

// As AuditEntry.at has it.
std::string AuditMoment(absl::Time time);

// An entry with what is known of who did it, and from where.
AuditEntry MakeAuditEntry(std::string what, std::string subject = "",
                          std::string who = "", std::string peer = "");

// The file below an AuditLog: lines are added at its end, each synced. A full
// one is renamed to PATH.N, N being the number of its last line, and a new one
// continues its chain. After a crash:
//   a last line without its end      stays as it is, and the next line says so
//   a last line that is none of ours nothing is written until a person has
//                                    moved the file away
//   no file, but PATH.N              the newest one is continued
// Not safe for concurrent use.
class AuditFile {
 public:
  // A file has at most `max_bytes`, give or take a line.
  AuditFile(std::string path, size_t max_bytes)
      : path_(std::move(path)), max_bytes_(max_bytes) {}

  // Finds the end of the chain; nothing if that is done. Makes the file, and
  // its folder for the owner alone, where there is none. Unavailable, naming
  // the file, if it cannot be read or written or another process writes it;
  // FailedPrecondition if its last line is none of ours.
  absl::Status Open(const std::string& at);
  // Fills in sequence, previous and sha256; synced when it returns OK. After an
  // error, as Open, no such line is there, or it is found at the next Open.
  absl::Status Append(AuditEntry entry);
  // The newest line; nothing before the first one.
  const AuditHead& head() const { return head_; }
  // The sequence of this file's first line.
  uint64_t first_sequence() const { return first_sequence_; }
  // The heads of other files that this file had when it was opened.
  const KnownHeads& known() const { return known_; }
  // By this object.
  uint64_t written_bytes() const { return written_bytes_; }

 private:
  absl::Status OpenFile();
  absl::Status ReadEnd(const std::string& at);
  absl::Status ReadOlder();
  absl::Status WriteLine(AuditEntry entry, absl::string_view before);
  absl::Status Trouble() const;

  const std::string path_;
  const size_t max_bytes_;
  OwnedFd fd_;
  size_t size_ = 0;
  AuditHead head_;
  uint64_t first_sequence_ = 0;
  KnownHeads known_;
  uint64_t written_bytes_ = 0;
};

inline constexpr char kAuditFileName[] = "audit.jsonl";
// Entry.what of what a host only reads.
inline constexpr char kAuditReadLogs[] = "read-logs";
inline constexpr char kAuditRecord[] = "record";
// As long as that refusals and heads of other files wait to be one line.
inline constexpr absl::Duration kAuditRefusalWindow = absl::Minutes(1);
inline constexpr absl::Duration kAuditHeadsWindow = absl::Seconds(5);
// The bounds of a host: the bytes of two hours may be written at once, then
// some 20 lines a minute.
inline constexpr size_t kHostAuditMinuteBytes = 8 << 10;
inline constexpr absl::Duration kAuditBurst = absl::Hours(2);

struct AuditLimits {
  size_t file_bytes;        // One file's; then a new one is begun.
  size_t minute_bytes = 0;  // New lines, in the long run; 0: no bound.
  // The longest time that a line waits until another one is written.
  absl::Duration hung_after = absl::Seconds(5);
};

// Safe for concurrent use. Only Begin and End wait for the disk.
class AuditLog {
 public:
  // `path`: its folder is there. `self`: the own SPIFFE id, for what has no
  // other caller. A file that cannot be written is logged, and tried again at
  // each call. Both pointers must outlive it.
  AuditLog(std::string path, AuditLimits limits, std::string self,
           Scheduler* scheduler, Log* log);
  // Writes what is only counted by now.
  ~AuditLog();

  // Right before the effect. Unavailable or FailedPrecondition, naming the file
  // and what is wrong with it, ResourceExhausted beyond AuditLimits: nothing
  // must then be done.
  absl::Status Begin(AuditEntry entry) ABSL_LOCKS_EXCLUDED(mutex_);
  // Writes the result. Only logs a failure to write: the effect has happened.
  void End(AuditEntry entry, absl::string_view result)
      ABSL_LOCKS_EXCLUDED(mutex_);
  // The same of a call that was never begun. The log's own thread writes it.
  void Refuse(AuditEntry entry, const absl::Status& why)
      ABSL_LOCKS_EXCLUDED(refusals_mutex_);
  // Blocks until all that was refused before is written, or logged.
  void Settle() { pool_.Drain(); }

  // The newest line.
  AuditHead head() const ABSL_LOCKS_EXCLUDED(head_mutex_);
  // The newest that is more than heads of other files, for the other side to
  // keep: two that sent each other what they keep would never end. Send no
  // other one: mixed with this it would look like a contradicted file.
  AuditHead head_to_tell() const ABSL_LOCKS_EXCLUDED(head_mutex_);

  // Keeps the head of another file, by head.of: in this one, within
  // kAuditHeadsWindow. A contradicted one has a line of its own, one of each
  // file and window, and the highest that it contradicts is kept as well.
  void NoteHead(const AuditHead& head) ABSL_LOCKS_EXCLUDED(heads_mutex_);
  // All of them, also those of before a restart that stand in the newest file;
  // a contradicted one behind the newest of its file.
  std::vector<AuditHead> heads() const ABSL_LOCKS_EXCLUDED(heads_mutex_);

 private:
  struct Refusals {
    AuditEntry first;
    bool logged = false;  // The first one has its line.
    uint32_t more = 0;    // Not yet in any line.
  };

  absl::Status Append(AuditEntry entry) ABSL_LOCKS_EXCLUDED(mutex_);
  // Lets one caller write at a time. False: the disk has hung for `wait`, or
  // another caller has just waited in vain.
  bool TakeTurn(absl::Duration wait) ABSL_LOCKS_EXCLUDED(turn_mutex_);
  void GiveTurn() ABSL_LOCKS_EXCLUDED(turn_mutex_);
  absl::Status AppendLocked(AuditEntry entry)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status OpenLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool HasBudgetLocked(const AuditEntry& entry)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void NoteHeadLocked(const AuditHead& head)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(heads_mutex_);
  void LogTrouble(const absl::Status& status, const AuditEntry& entry);
  // Has `write` run on the own thread.
  void After(absl::Duration delay, std::function<void()> write);
  // The line of such a refusal; "": the first of many. `counts`: the line of
  // what was counted since.
  void WriteRefusal(const std::string& key, bool counts)
      ABSL_LOCKS_EXCLUDED(mutex_);
  void WriteCountLocked(const std::string& key)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void WriteHeads() ABSL_LOCKS_EXCLUDED(mutex_, heads_mutex_);
  void WriteHeadsLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_)
      ABSL_LOCKS_EXCLUDED(heads_mutex_);

  const AuditLimits limits_;
  const std::string self_;
  Scheduler* const scheduler_;
  Log* const log_;

  absl::Mutex mutex_;
  AuditFile file_ ABSL_GUARDED_BY(mutex_);
  // first_sequence() of the file in which all heads were written last.
  uint64_t heads_in_file_ ABSL_GUARDED_BY(mutex_) = 0;
  bool was_read_ ABSL_GUARDED_BY(mutex_) = false;  // With the heads in it.
  // Bytes that may be written: for calls that may change something, and for
  // those that only read; below 0 by what could not wait.
  Allowance budgets_[2] ABSL_GUARDED_BY(mutex_);

  // A mutex of its own, so that a refused call never waits for the disk.
  absl::Mutex refusals_mutex_;
  std::map<std::string, Refusals> refusals_ ABSL_GUARDED_BY(refusals_mutex_);
  std::atomic<bool> has_budget_[2] = {{true}, {true}};  // As last seen.
  absl::Mutex turn_mutex_;
  bool writing_ ABSL_GUARDED_BY(turn_mutex_) = false;
  bool hung_ ABSL_GUARDED_BY(turn_mutex_) = false;
  mutable absl::Mutex head_mutex_;
  AuditHead head_ ABSL_GUARDED_BY(head_mutex_);
  AuditHead head_to_tell_ ABSL_GUARDED_BY(head_mutex_);
  mutable absl::Mutex heads_mutex_;
  KnownHeads heads_ ABSL_GUARDED_BY(heads_mutex_);
  std::set<std::string> unwritten_ ABSL_GUARDED_BY(heads_mutex_);
  // By file: the first of this window.
  std::map<std::string, AuditEntry> conflicts_ ABSL_GUARDED_BY(heads_mutex_);
  bool heads_due_ ABSL_GUARDED_BY(heads_mutex_) = false;

  const CallbackGate gate_;
  WorkerPool pool_{1, 1024};  // Last: its thread uses the rest.
};

// `effect`, which gives a StatusOr, between its two lines: not begun unless the
// first is written.
template <typename Effect>
auto RunAudited(AuditLog* audit, const AuditEntry& entry, const Effect& effect)
    -> decltype(effect()) {
  const absl::Status begun = audit->Begin(entry);
  if (!begun.ok()) return begun;
  auto result = effect();
  audit->End(entry, result.ok() ? "done" : result.status().message());
  return result;
}

}  // namespace clusterd

#endif  // DAEMON_AUDIT_AUDIT_LOG_H_
