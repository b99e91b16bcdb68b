// The controller's tasks that change this host: one at a time, on a thread of
// their own, so that observations neither wait for them nor hold them up. What
// was begun is finished or undone, whatever becomes of the stream; every task
// ends in exactly one result, and a refusal is one of them:
//   the applier's error                  outcome         `error`
//   NotFound, of a rollback              REFUSED         its message, and
//                                                        no_journal is set
//   any other                            REFUSED         its message
//   a change runs; this daemon stops     REFUSED         says so
// Messages without the name of this host in front: the result has it. All texts
// as OutcomeText (apply/outcome_text.h).
#ifndef DAEMON_AGENT_APPLY_TASKS_H_
#define DAEMON_AGENT_APPLY_TASKS_H_

#include <cstddef>
#include <functional>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "daemon/agent/applies_record.h"
#include "daemon/agent/apply/applier.h"
#include "daemon/log/log.h"
#include "daemon/process/worker_pool.h"
#include "proto/agent_hub.pb.h"

namespace clusterd {

// A result over this is sent without its facts and, if need be, without the
// details of its steps, which the journal keeps: a controller takes no message
// over 1 MiB.
inline constexpr size_t kMaxResultBytes = 512 << 10;

// Safe for concurrent use.
class ApplyTasks {
 public:
  // Both are called on the thread of the changes, `done` once and last. `done`
  // of a task that is refused at once is called before Apply returns.
  using Progress = std::function<void(const StepOutcome&)>;
  using Done = std::function<void(ApplyResult)>;

  // `host`: the name in this host's certificate. `record`, if given, is told of
  // every change. All pointers must outlive this object; nobody else may use
  // the applier.
  ApplyTasks(std::string host, Applier* applier, Log* log,
             AppliesRecord* record = nullptr);
  // Stops.
  ~ApplyTasks();
  ApplyTasks(const ApplyTasks&) = delete;
  ApplyTasks& operator=(const ApplyTasks&) = delete;

  // Finishes what a crash cut off, on the calling thread, and logs what came of
  // it. To be called once, before anything else. After an error, which it logs
  // too, and after a change whose journal could not be written to its end (the
  // disk was full), every task tries it again first, and is refused with that
  // error while it lasts.
  void Recover();

  void Apply(const ApplyTask& task, Progress progress, const Done& done);
  void RollBack(const RollbackTask& task, const Done& done);

  // How the newest applies ended, oldest first; without the facts that they
  // left. At most 16, and kMaxResultBytes in all.
  PastApplies Past() const ABSL_LOCKS_EXCLUDED(mutex_);

  // Refuses tasks from now on and waits until the one that runs has ended and
  // is answered. Must not be called by a `done`.
  void Stop() ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  using Change = std::function<absl::StatusOr<ApplyResult>()>;

  // Runs `change` on the thread, or refuses it. `what` names it in the log.
  void Start(const std::string& what, const std::string& apply_id,
             Change change, const Done& done) ABSL_LOCKS_EXCLUDED(mutex_);
  ApplyResult Run(const std::string& what, const std::string& apply_id,
                  const Change& change);
  absl::Status TryRecover();
  // A change is over; `recovered`: whether the journals can be believed.
  void ReadPast(const absl::Status& recovered) ABSL_LOCKS_EXCLUDED(mutex_);
  ApplyResult ResultFor(const std::string& apply_id,
                        const absl::Status& refused) const;

  const std::string host_;
  Applier* const applier_;
  Log* const log_;
  AppliesRecord* const record_;
  mutable absl::Mutex mutex_;
  bool running_ ABSL_GUARDED_BY(mutex_) = false;
  // Tasks accepted of which `done` has not returned.
  int unanswered_ ABSL_GUARDED_BY(mutex_) = 0;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  // No journal is unfinished or cannot be read.
  bool recovered_ ABSL_GUARDED_BY(mutex_) = false;
  PastApplies past_ ABSL_GUARDED_BY(mutex_);
  WorkerPool thread_{1, 1};  // Last: uses everything above.
};

}  // namespace clusterd

#endif  // DAEMON_AGENT_APPLY_TASKS_H_
