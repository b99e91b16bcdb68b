// The controller's tasks that change this host: one at a time, on a thread of
// their own, so that observations and changes do not delay each other. A begun
// task is finished or undone even if the stream ends. Each ends in exactly one
// result:
//   the applier's error                  outcome         `error`
//   NotFound, of a rollback              REFUSED         its message, and
//                                                        no_journal is set
//   any other                            REFUSED         its message
//   a change runs; this daemon stops     REFUSED         says so
//   an apply waits to be confirmed       REFUSED         whose, and how long
//   the audit file cannot be written     REFUSED         why
// Messages omit the name of this host, which the result has. All texts are as
// OutcomeText (apply/journal.h). An apply that is not confirmed by its deadline
// is rolled back here, with or without a controller.
#ifndef DAEMON_AGENT_APPLY_TASKS_H_
#define DAEMON_AGENT_APPLY_TASKS_H_

#include <algorithm>
#include <cstddef>
#include <optional>

#include "daemon/agent/apply/applier.h"
#include "daemon/agent/drift_watch.h"
#include "daemon/process/log.h"

namespace clusterd {

// Results are sent without the facts after them, which stay in the journal for
// a rollback. A larger result also loses the details of its steps, then the end
// of its residues: a controller accepts 1 MiB a message and 16 KiB a text.
inline constexpr size_t kMaxResultBytes = 512 << 10;

// The wait to retry an undo that needs a task's end, or readable journals.
inline constexpr absl::Duration kUndoRetry = absl::Seconds(10);

// The interval if the undo is done but its journal could not be closed: every
// retry reloads the firewall.
inline constexpr absl::Duration kUnclosedRetry = absl::Minutes(10);

// The longest sleep before a deadline: timers stop while the machine is
// suspended, deadlines do not.
inline constexpr absl::Duration kDeadlineRound = absl::Minutes(1);

// "apply a1 was cut off: UNDONE", or that it was not confirmed, for the log.
std::string InterruptedText(const ApplyResult& result);

// The audit entry of an undo after a crash.
AuditEntry RecoveryOf(const std::string& apply_id);
// The result of such an undo, for the audit file.
std::string RecoveryText(const absl::StatusOr<ApplyResult>& result);

// Makes a result small enough to be sent.
void BoundResult(ApplyResult* result);

// Safe for concurrent use.
class ApplyTasks {
 public:
  // Both are called on the thread of the changes, `done` once and last. A task
  // that is refused immediately calls `done` before Apply returns.
  using Progress = std::function<void(const StepOutcome&)>;
  using Done = std::function<void(ApplyResult)>;

  // `host`: the name in this host's certificate. `record` is notified of every
  // change; `audit` gets a line before and after it. All pointers must outlive
  // this object, the only user of the applier.
  ApplyTasks(std::string host, Applier* applier, Log* log,
             AppliesRecord* record, AuditLog* audit)
      : host_(std::move(host)),
        applier_(applier),
        log_(log),
        record_(record),
        audit_(audit) {}
  ~ApplyTasks() { Stop(); }

  // Finishes what a crash interrupted, on the calling thread, and logs the
  // result. Call it once, first. After an error every task retries it first,
  // and is refused while the error lasts. With `scheduler`, which must outlive
  // this object, it is also retried every kUndoRetry or kUnclosedRetry, even if
  // the audit file cannot be written.
  void Recover(Scheduler* scheduler = nullptr);

  // Calls `undone` after each undo of a later retry, on the thread of the
  // changes: Past() has its result. Holds one listener; empty: none.
  void ListenForUndone(std::function<void()> undone)
      ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    undone_ = std::move(undone);
  }

  // Why a pending undo blocks applies; empty if none is pending.
  std::string Unfinished() const ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    return unfinished_;
  }

  void Apply(const ApplyTask& task, Progress progress, const Done& done);
  void RollBack(const RollbackTask& task, const Done& done);
  // Past() omits the result: a refusal would look like that of the apply.
  void Confirm(const ConfirmTask& task, const Done& done);

  // Results of the newest applies: from the journals, and results of the newest
  // tasks without a journal, such as refusals. At most 16, and kMaxResultBytes
  // in total, without the running apply; the one that waits to be confirmed has
  // its deadline. Also names the running one, and those with a journal.
  PastApplies Past() const ABSL_LOCKS_EXCLUDED(mutex_);

  // Refuses tasks from now on and waits until the running one has ended and was
  // answered. Must not be called by a `done`.
  void Stop() ABSL_LOCKS_EXCLUDED(mutex_) {
    {
      absl::MutexLock lock(&mutex_);
      stopping_ = true;
    }
    gate_.Close();
    thread_.Drain();
  }

 private:
  struct Asked {
    std::string what;  // For the log.
    std::string apply_id;
    bool rollback = false;
    bool confirm = false;
    AuditEntry audited;
  };
  using Change = std::function<absl::StatusOr<ApplyResult>()>;
  // An apply that waits to be confirmed.
  struct Waiting {
    std::string apply_id;
    absl::Duration until;  // By Applier::SinceBoot.
  };

  // Runs `change` on the thread, or refuses it.
  void Start(const Asked& asked, Change change, const Done& done)
      ABSL_LOCKS_EXCLUDED(mutex_);
  ApplyResult Run(const Asked& asked, const Change& change);
  void RememberLocked(const ApplyResult& result)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Sets `undone` if something has been rolled back.
  absl::Status TryRecover(bool* undone) ABSL_LOCKS_EXCLUDED(mutex_);
  // A controller that attached meanwhile still waits for the end of the apply.
  void TellUndone() ABSL_LOCKS_EXCLUDED(mutex_) {
    std::function<void()> undone;
    {
      absl::MutexLock lock(&mutex_);
      undone = undone_;
    }
    if (undone) undone();
  }
  // Runs on the thread of the changes.
  void RecoverAgain() ABSL_LOCKS_EXCLUDED(mutex_);
  void SetTimerLocked(absl::Duration delay)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (scheduler_ == nullptr || stopping_ || timer_ != 0) return;
    timer_ = scheduler_->RunAfter(delay, gate_.Wrap([this] { OnTimer(); }));
  }
  void OnTimer() ABSL_LOCKS_EXCLUDED(mutex_);
  // Time until an unconfirmed apply rolls back; zero: it is due.
  absl::Duration TimeLeftLocked() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (!waits_.has_value()) return absl::InfiniteDuration();
    return std::max(waits_->until - applier_->SinceBoot(),
                    absl::ZeroDuration());
  }
  // Called after a change. `recovered`: OK if the journals can be trusted;
  // `undone`: something has just been rolled back.
  void ReadPast(const absl::Status& recovered, bool undone)
      ABSL_LOCKS_EXCLUDED(mutex_);
  ApplyResult ResultFor(const Asked& asked, const absl::Status& refused) const;

  const std::string host_;
  Applier* const applier_;
  Log* const log_;
  AppliesRecord* const record_;
  AuditLog* const audit_;
  mutable absl::Mutex mutex_;
  // The apply that is being made or rolled back.
  std::optional<std::string> at_work_ ABSL_GUARDED_BY(mutex_);
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  // All journals are finished and readable.
  bool recovered_ ABSL_GUARDED_BY(mutex_) = false;
  std::string unfinished_ ABSL_GUARDED_BY(mutex_);
  std::function<void()> undone_ ABSL_GUARDED_BY(mutex_);
  Scheduler* scheduler_ ABSL_GUARDED_BY(mutex_) = nullptr;
  Scheduler::TimerId timer_ ABSL_GUARDED_BY(mutex_) = 0;
  std::vector<ApplyResult> journaled_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::string> journal_ids_ ABSL_GUARDED_BY(mutex_);
  // The newest result of each id, oldest first.
  std::vector<ApplyResult> recent_ ABSL_GUARDED_BY(mutex_);
  std::optional<Waiting> waits_ ABSL_GUARDED_BY(mutex_);
  const CallbackGate gate_;
  // Runs a task or a retried recovery. Last: uses everything above.
  WorkerPool thread_{1, 2};
};

}  // namespace clusterd

#endif  // DAEMON_AGENT_APPLY_TASKS_H_
