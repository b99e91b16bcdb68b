// The applies and rollbacks of this controller: refuses or runs them, one at a
// time, and keeps them in the history with later reports of hosts. It depends
// on neither gRPC nor roles.
//
// Refusals are those of change_order.h, and
//   Unavailable  another apply or rollback runs (named), or an apply waits to
//                be confirmed and this is not its rollback; or a host of this
//                one is not yet notified of a confirmation, or reverts
//   others       the history or the audit file cannot be written
// A refused change has asked no host.
#ifndef DAEMON_CONTROLLER_CHANGE_CLUSTER_CHANGES_H_
#define DAEMON_CONTROLLER_CHANGE_CLUSTER_CHANGES_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "daemon/controller/calls/controller_parts.h"
#include "daemon/controller/change/apply_run.h"
#include "daemon/controller/change/change_order.h"
#include "daemon/controller/change/pending_change.h"
#include "daemon/process/callback_gate.h"
#include "proto/agent_hub.pb.h"
#include "proto/audit.pb.h"
#include "proto/controller.pb.h"
#include "proto/plan.pb.h"

namespace clusterd {

inline constexpr uint32_t kDefaultWaveSize = 32;
// The most applies with unnotified hosts before ones that revert are refused.
inline constexpr size_t kMaxPendingChanges = 8;

// A requested change, its caller and its options.
struct ChangeRequest {
  // The plan to apply: one that this controller has just made, or one from
  // ReadKeptPlan. Null: roll back the apply `rollback_of`.
  std::shared_ptr<const ClusterPlan> plan;
  std::string rollback_of;
  // The user who calls; the controller for changes that it begins.
  AuditEntry caller;
  // For the log: role and address, e.g. "operator, ipv4:10.0.0.9:5123".
  std::string from;
  // Waves, force and confirmation; `plan` has the plan.
  ApplyPlanRequest options;
  bool enforced = false;
};

// An apply by the controller itself that restores drifted values. It has no
// automatic rollback, which would only bring back the drift and block other
// applies meanwhile.
ChangeRequest EnforcedChange(std::shared_ptr<const ClusterPlan> plan);

// Safe for concurrent use; one apply or rollback at a time.
class ClusterChanges {
 public:
  // All parts must outlive it.
  explicit ClusterChanges(const ControllerParts& parts) : parts_(parts) {}
  ~ClusterChanges() { Stop(); }

  // Call before any host attaches. Marks runs of the previous controller as
  // INTERRUPTED; lost hosts may still report, and applies that wait to be
  // confirmed keep waiting. Blocks.
  void Recover() ABSL_LOCKS_EXCLUDED(mutex_);

  // Blocks on the history: not for a thread that must not block. The run
  // continues even if the caller drops it.
  absl::StatusOr<std::shared_ptr<ApplyRun>> Start(const ChangeRequest& request,
                                                  ApplyWatcher watcher)
      ABSL_LOCKS_EXCLUDED(mutex_);

  // Lets the run with this id begin no further wave. `id` as HistoryStore::Get;
  // `from`: for the log, as in ChangeRequest. Blocks on the history.
  //   InvalidArgument   the run is over, or it is a check or plan
  //   others            those of HistoryStore::Get, if no run has the id
  absl::StatusOr<CancelResponse> Cancel(const std::string& id,
                                        const std::string& actor,
                                        const std::string& from)
      ABSL_LOCKS_EXCLUDED(mutex_);

  // Like Cancel, but also stops waiting for the run's hosts, so that the next
  // run may begin. Later reports correct the history.
  absl::StatusOr<AbortApplyResponse> Abort(const std::string& id,
                                           const std::string& actor,
                                           const std::string& from)
      ABSL_LOCKS_EXCLUDED(mutex_);

  // "apply 0123456789abcdef of alice"; empty if none runs.
  FindingValue Running() ABSL_LOCKS_EXCLUDED(mutex_);

  // Confirms or extends the apply with this id, as PendingChange does; may call
  // `answered` before it returns. Blocks on the history.
  //   FailedPrecondition  also if it does not wait
  //   others              those of HistoryStore::FindApply
  using Confirmed = PendingChange::Answered;
  void Confirm(const std::string& id, const AuditEntry& caller,
               const Confirmed& answered) ABSL_LOCKS_EXCLUDED(mutex_);
  void Extend(const std::string& id, const AuditEntry& caller,
              absl::Duration by, const Confirmed& answered)
      ABSL_LOCKS_EXCLUDED(mutex_);

  // The apply that waits to be confirmed, if any, and confirmed ones with hosts
  // that are not yet notified.
  std::vector<ConfirmResponse> Pending() ABSL_LOCKS_EXCLUDED(mutex_);

  // The history's record, or the current state if the run is under way or waits
  // to be confirmed.
  absl::StatusOr<HistoryRecord> Show(const std::string& id)
      ABSL_LOCKS_EXCLUDED(mutex_);

  // Counts this controller's ended runs by RunOutcomeName, including those that
  // its start marked as INTERRUPTED.
  std::map<std::string, uint64_t> Ended() const ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    return ended_;
  }

  // For HostHooks::past_applies. Does not block.
  void OnPastApplies(const std::string& host, const PastApplies& reported)
      ABSL_LOCKS_EXCLUDED(mutex_);

  // Ends the running change, refuses later ones, and releases all parts.
  void Stop() ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  // The one change that runs, or is about to.
  struct Current {
    FindingValue what;  // "apply 0123456789abcdef of alice"
    absl::Time since;
    std::shared_ptr<ApplyRun> run;  // Null while it is being prepared.
  };
  void EndChange() ABSL_LOCKS_EXCLUDED(mutex_);
  // Null: none is under way, or it is being prepared.
  std::shared_ptr<ApplyRun> CurrentRun() const ABSL_LOCKS_EXCLUDED(mutex_);
  // The run that is under way; the errors of Cancel if it has another id.
  absl::StatusOr<std::shared_ptr<ApplyRun>> FindCurrent(const std::string& id)
      ABSL_LOCKS_EXCLUDED(mutex_);
  // `head`: the caller and the options, to be added to the order's report.
  absl::StatusOr<std::shared_ptr<ApplyRun>> StartRun(
      ApplyReport head, const ChangeRequest& request, ApplyWatcher watcher)
      ABSL_LOCKS_EXCLUDED(mutex_);
  std::shared_ptr<ApplyRun> MakeRun(ApplyOrder order, const AuditEntry& audited,
                                    ApplyWatcher watcher);
  void OnRunEnd(const ApplyReport& report, const AuditEntry& audited)
      ABSL_LOCKS_EXCLUDED(mutex_);
  // Notes in the apply's record which hosts this rollback has restored.
  void TakeBack(const ApplyReport& rollback) ABSL_LOCKS_EXCLUDED(mutex_);
  // Updates the history, or logs why not.
  void Keep(const ApplyReport& report);
  // A change's run is over, but hosts may still report. `plan`: null if it is
  // not known.
  void Follow(const ApplyReport& report,
              std::shared_ptr<const ClusterPlan> plan)
      ABSL_LOCKS_EXCLUDED(mutex_);
  std::vector<std::shared_ptr<PendingChange>> AllPending() const
      ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    return pending_;
  }
  // Those that wait to be confirmed, or for hosts to be notified or to revert.
  std::vector<std::shared_ptr<PendingChange>> AllWaiting() const
      ABSL_LOCKS_EXCLUDED(mutex_);
  // The errors of Confirm, if the apply does not wait.
  absl::StatusOr<std::shared_ptr<PendingChange>> FindWaiting(
      const std::string& id) ABSL_LOCKS_EXCLUDED(mutex_);
  // Unavailable if a waiting apply blocks the order.
  absl::Status CheckPending(const ApplyOrder& order) const
      ABSL_LOCKS_EXCLUDED(mutex_);
  // A change of the previous controller.
  void Resume(ChangeRecord change) ABSL_LOCKS_EXCLUDED(mutex_);

  const ControllerParts parts_;
  const CallbackGate gate_;

  mutable absl::Mutex mutex_;
  // Changes whose runs are over, but with hosts whose result may change. At
  // most one is PENDING.
  std::vector<std::shared_ptr<PendingChange>> pending_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, uint64_t> ended_ ABSL_GUARDED_BY(mutex_);
  std::optional<Current> current_ ABSL_GUARDED_BY(mutex_);
  bool stopped_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace clusterd

#endif  // DAEMON_CONTROLLER_CHANGE_CLUSTER_CHANGES_H_
