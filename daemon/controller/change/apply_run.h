// One apply or rollback over its hosts: waves, a task for each host with its
// progress, and the report. It continues if no client watches.
//
//   a wave of an apply fails     the hosts of the later waves are not started
//   a host cannot be rolled back the others still are, so that one dead host
//                                does not prevent restoring the cluster
//   a host lacks the journal     REFUSED if the kept report has it as applied
//   of an apply to roll back     or with residues: its settings stay.
//                                NOTHING_TO_DO if it was LOST: nothing shows
//                                that it was begun there
//   a host's stream ends         its clusterd continues. The run waits until
//                                it has attached again and reports its end:
//                                at least 30 s and, while the host is
//                                attached, until its deadline. Then it is
//                                LOST, and the wave has failed; at once if the
//                                host says that it does not know the apply
//   the run cannot be saved      no further host is asked
//   a host reports no step       it is LOST; one that keeps reporting steps
//   for a step's time            has until the deadline of all of them
//   a host reverts meanwhile     no further wave begins: the run is too slow
//                                for its confirmation deadline
//   a user cancels it            the wave under way ends, and no other one
//                                begins; CANCELLED if any is left out
//   a user aborts it             the same, and busy hosts are LOST at once:
//                                they continue and report later
//   the controller stops         the run is INTERRUPTED, with what is known
//
// The record (config/change) has what has become of each host. It is saved
// before a wave begins, with the hosts of the wave as RUNNING.
#ifndef DAEMON_CONTROLLER_CHANGE_APPLY_RUN_H_
#define DAEMON_CONTROLLER_CHANGE_APPLY_RUN_H_

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "config/change/change_record.h"
#include "config/plan/waves.h"
#include "daemon/controller/calls/controller_parts.h"
#include "daemon/controller/change/change_order.h"
#include "daemon/controller/hosts/attached_hosts.h"
#include "daemon/process/callback_gate.h"
#include "proto/controller.pb.h"
#include "proto/plan.pb.h"

namespace clusterd {

// Observes a run. Called on any thread, never under a lock; must not block.
struct ApplyWatcher {
  // progress() has changed; first called when the run begins.
  std::function<void(std::shared_ptr<const class ApplyRun> run)> on_progress =
      [](const auto&) {};
  // A wave begins; a wave, step or host has ended; or a user has cancelled.
  std::function<void(ApplyEvent event)> on_event = [](const auto&) {};
  // Called last and once: the report, or why the run ended early.
  std::function<void(absl::StatusOr<ApplyReport> report)> on_end =
      [](const auto&) {};
};

// Safe for concurrent use; calls nothing under its lock but the scheduler.
class ApplyRun : public std::enable_shared_from_this<ApplyRun> {
 public:
  struct Callbacks {
    // Keeps the report, synced. Called on a thread that may block.
    std::function<absl::Status(const ApplyReport& report)> save;
    // The run has ended and is saved; called before the watcher's on_end.
    std::function<void(const ApplyReport& report)> on_end = [](const auto&) {};
    ApplyWatcher watcher;
  };

  // The parts must outlive the run, or Stop.
  ApplyRun(ApplyOrder order, const ControllerParts& parts, Callbacks callbacks);

  // Saves the run, which blocks, and begins the first wave. An error: the save
  // failed, no host was asked and no other callback was called.
  absl::Status Start() ABSL_LOCKS_EXCLUDED(mutex_);
  // A host reports earlier applies. If it does not know the run's apply, the
  // run stops waiting for it. A run that is over ignores it. True if it is
  // news.
  bool OnPastApplies(const std::string& host, const PastApplies& past)
      ABSL_LOCKS_EXCLUDED(mutex_);
  // Begins no further wave; blocks while it saves that, and holds even if the
  // save fails. If the run was cancelled before, the answer names the user.
  // FailedPrecondition: the run is over.
  absl::StatusOr<CancelResponse> Cancel(const std::string& actor)
      ABSL_LOCKS_EXCLUDED(saving_, mutex_);
  // Cancels the run, and stops waiting for hosts. Errors are Cancel's.
  absl::StatusOr<AbortApplyResponse> Abort(const std::string& actor)
      ABSL_LOCKS_EXCLUDED(saving_, mutex_);
  // The controller stops. No part is used after it returns. True: the run was
  // interrupted, and on_end is not called. Must not be called from a callback.
  bool Stop() ABSL_LOCKS_EXCLUDED(mutex_);

  const std::string& run_id() const { return head_.run_id(); }
  ApplyProgress progress() const ABSL_LOCKS_EXCLUDED(mutex_);
  // The current report; the final one at the end.
  ApplyReport report() const ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    return record_.report();
  }

 private:
  struct Asked {
    absl::Time at;
    AttachedHosts::TaskId task = 0;  // 0: not assigned yet.
    size_t steps_seen = 0;
    // The reason why its stream ended.
    std::optional<FindingValue> lost_because;
    Scheduler::TimerId timer = 0;
  };

  Task MakeTask(size_t index) const;
  // The longest silence allowed after this many reported steps. A host may be
  // undoing them, and reports that only at the end.
  absl::Duration SilenceAfter(size_t index, size_t steps_seen) const;

  // Closes the report and returns it.
  ApplyReport CloseLocked(ApplyReport::Outcome outcome)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  void TakeWaveLocked(size_t wave) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Indices of the running hosts.
  std::vector<size_t> AtWorkLocked() const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Saves the report and asks the hosts of the wave that was taken. An error:
  // the save failed, and no host was asked.
  absl::Status BeginWave() ABSL_LOCKS_EXCLUDED(mutex_);
  ApplyEvent WaveEvent(size_t wave) const;
  void OnStep(size_t index, StepOutcome step) ABSL_LOCKS_EXCLUDED(mutex_);
  void OnTaskEnd(size_t index, absl::StatusOr<TaskResult> answer)
      ABSL_LOCKS_EXCLUDED(mutex_);
  void WaitForReattach(size_t index, absl::Duration wait)
      ABSL_LOCKS_EXCLUDED(mutex_);
  void OnWaitOver(size_t index) ABSL_LOCKS_EXCLUDED(mutex_);
  bool TakePast(size_t index, const ApplyResult& result)
      ABSL_LOCKS_EXCLUDED(mutex_);
  // Ends a running host.
  void Settle(size_t index, ApplyResult result) ABSL_LOCKS_EXCLUDED(mutex_);
  void EndWave() ABSL_LOCKS_EXCLUDED(mutex_);
  void Finish(ApplyReport::Outcome outcome) ABSL_LOCKS_EXCLUDED(mutex_);
  // Keeps the report as it is, unless the run is over.
  absl::Status SaveRunning() const ABSL_LOCKS_EXCLUDED(saving_, mutex_);
  // Keeps the report of a run that is over, or logs why not.
  absl::Status SaveEnd(const ApplyReport& report) const
      ABSL_LOCKS_EXCLUDED(saving_);

  const ApplyReport head_;  // As ordered, with ids and actor.
  const std::vector<ApplyOrder::Host> hosts_;
  const Waves waves_;
  const std::shared_ptr<const ClusterPlan> plan_;
  const AuditEntry caller_;
  const ControllerParts parts_;
  const Callbacks callbacks_;
  const absl::Time started_at_;
  // Users of the parts hold a pass, so that Stop waits for them.
  const CallbackGate gate_;

  // A saving thread holds it from before it copies the report, so that an older
  // report never replaces a newer one.
  mutable absl::Mutex saving_;
  mutable absl::Mutex mutex_ ABSL_ACQUIRED_AFTER(saving_);
  ChangeRecord record_ ABSL_GUARDED_BY(mutex_);  // Hosts as hosts_.
  std::vector<Asked> asked_ ABSL_GUARDED_BY(mutex_);
  size_t wave_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace clusterd

#endif  // DAEMON_CONTROLLER_CHANGE_APPLY_RUN_H_
