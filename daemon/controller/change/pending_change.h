// One change whose run is over, until it is over on every host: the record
// takes what hosts report later (config/change), and is saved. An apply with
// automatic rollback is also confirmed here:
//   PENDING     all hosts that have it are attached, a check of the rules that
//               it affects passes on all of them, and a person has confirmed
//               it, unless `automatic` is set      -> CONFIRMED
//               the first deadline has passed, all hosts have reverted, or
//               it is rolled back    -> REVERTING
//   CONFIRMED   every host is notified, with retries while it is detached; a
//               host that was lost in the run, once it reports the apply;
//               over when all are notified, or after the last deadline
//   REVERTING   over once all hosts have reported it, or after that deadline
// A host's report counts only for that host: if one has reverted, the others
// may still be confirmed. The time at which a lost host reverts must lie
// between the deadlines counted from the begin and the end of the run, both
// with their extensions. A lost stream reverts nothing: the controller may be
// the isolated side. A failed check is repeated at growing intervals, at once
// after a confirmation or extension, and shortly before the deadline. A
// confirmation takes effect once the check has passed.
#ifndef DAEMON_CONTROLLER_CHANGE_PENDING_CHANGE_H_
#define DAEMON_CONTROLLER_CHANGE_PENDING_CHANGE_H_

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "config/change/change_record.h"
#include "daemon/controller/calls/controller_parts.h"
#include "daemon/controller/hosts/attached_hosts.h"
#include "daemon/controller/queue/fact_queue.h"
#include "daemon/process/callback_gate.h"
#include "proto/agent_hub.pb.h"
#include "proto/audit.pb.h"
#include "proto/controller.pb.h"
#include "proto/plan.pb.h"

namespace clusterd {

// How often it checks if hosts are attached again.
inline constexpr absl::Duration kPendingRound = absl::Seconds(5);
// The wait after the first failed check; it doubles each time. The last check
// runs this long before the deadline, so that hosts can still be notified.
inline constexpr absl::Duration kFirstCheckWait = absl::Seconds(15);
inline constexpr absl::Duration kLongestCheckWait = absl::Minutes(10);

// Safe for concurrent use; calls nothing under its lock but the scheduler and
// AttachedHosts::IsAttached.
class PendingChange : public std::enable_shared_from_this<PendingChange> {
 public:
  // Saves the report, or logs why not. `is_settled`: no host's result may still
  // change. Called on a thread that may block.
  using Save = std::function<void(const ApplyReport& report, bool is_settled)>;
  using Answered =
      std::function<void(absl::StatusOr<ConfirmResponse> response)>;

  // `report`: of the change whose run is over. `plan`: null if the history has
  // dropped it; then all rules count. The parts must outlive it, or Stop.
  PendingChange(ApplyReport report, std::shared_ptr<const ClusterPlan> plan,
                const ControllerParts& parts, Save save);

  void Start() { WorkSoon(); }

  // A person confirms it. Calls `answered` once, from any thread, when every
  // attached host has answered, with what it still waits for.
  //   FailedPrecondition  it reverts already
  void Confirm(const AuditEntry& caller, Answered answered)
      ABSL_LOCKS_EXCLUDED(mutex_);
  // Moves all deadlines. The whole apply reverts by its earliest deadline,
  // which does not move if a host refuses.
  //   InvalidArgument     over kLongestConfirmWithin in total, or by less than
  //                       kShortestConfirmWithin
  //   FailedPrecondition  it is confirmed, or reverts; or a host is detached
  //   Unavailable         another call moves them already; or a host refused
  void Extend(const AuditEntry& caller, absl::Duration by,
              const Answered& answered) ABSL_LOCKS_EXCLUDED(mutex_);
  // Its rollback begins: confirms nothing from now on. Both save, which blocks.
  void GiveUp() ABSL_LOCKS_EXCLUDED(working_, mutex_);
  // The rollback is over.
  void TakeBack(const ApplyReport& rollback)
      ABSL_LOCKS_EXCLUDED(working_, mutex_);
  // A host reports earlier applies. Does not block.
  void OnPastApplies(const std::string& host, const PastApplies& past)
      ABSL_LOCKS_EXCLUDED(mutex_);
  // The controller stops. No part is used after it returns.
  void Stop() ABSL_LOCKS_EXCLUDED(mutex_);

  // Without hosts.
  const ApplyReport& head() const { return head_; }
  const std::string& run_id() const { return head_.run_id(); }
  // The current state, with waits_for.
  ApplyReport report() const ABSL_LOCKS_EXCLUDED(mutex_);
  ConfirmResponse response() const ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    return NowLocked();
  }
  // It waits to be confirmed, or for hosts to be notified or to revert.
  bool IsWaiting() const ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    return !over_;
  }
  // True if the host may have the apply and may still revert it.
  bool IsOpenOn(const std::string& host) const ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    return record_.IsIn(host, kOpenStates);
  }

 private:
  // Whether and when a host is notified.
  struct Notice {
    bool asked = false;                            // Its answer is due.
    std::optional<FindingValue> why_not;           // It refused.
    absl::Time not_before = absl::InfinitePast();  // The next try.
  };

  // Does the due work. Runs on the pool.
  void Work() ABSL_LOCKS_EXCLUDED(working_, mutex_);
  void WorkSoon();
  // A lost host has the change, and reverts it at that time.
  void AddHostLocked(const std::string& host, absl::Time at)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void StepLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool IsOverLocked() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  std::vector<std::string> AwayLocked() const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  const Confirmation& KeptLocked() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return record_.report().confirmation();
  }
  Confirmation* EditLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    is_news_ = true;
    return record_.mutable_report()->mutable_confirmation();
  }
  bool IsLateLocked() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Ends the confirmation; returns whom to answer, and the check to leave.
  std::vector<Answered> EndLocked(FactQueue::Ticket* check)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Saves the record if it has changed.
  void SaveNews() ABSL_EXCLUSIVE_LOCKS_REQUIRED(working_)
      ABSL_LOCKS_EXCLUDED(mutex_);
  // Hosts to notify now, which it marks as asked.
  std::vector<std::string> TakePendingHostsLocked()
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool AnyAskedLocked() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  ConfirmResponse NowLocked() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  // Checks soon: a user may just have fixed the last check's findings.
  void CheckSoonLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // The check to begin; null: none.
  std::shared_ptr<FactOrder> TakeCheckLocked(FactQueue::Ticket ticket)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void BeginCheck(FactQueue::Ticket ticket, std::shared_ptr<FactOrder> order)
      ABSL_LOCKS_EXCLUDED(mutex_);
  void OnFacts(FactQueue::Ticket ticket, const FactOrder& order,
               const std::vector<HostFacts>& facts) ABSL_LOCKS_EXCLUDED(mutex_);
  // REQUIRES: the hosts are marked as asked.
  void Tell(const std::vector<std::string>& hosts, absl::Duration extend_by)
      ABSL_LOCKS_EXCLUDED(mutex_);
  void OnAnswer(const std::string& host, absl::Duration extend_by,
                const absl::StatusOr<TaskResult>& answer)
      ABSL_LOCKS_EXCLUDED(mutex_);
  void EndExtend() ABSL_LOCKS_EXCLUDED(mutex_);

  const ApplyReport head_;
  const std::shared_ptr<const ClusterPlan> plan_;
  const ControllerParts parts_;
  const Save save_;
  const CallbackGate gate_;

  // The working thread holds it until it has saved, to keep states in order.
  absl::Mutex working_;
  mutable absl::Mutex mutex_ ABSL_ACQUIRED_AFTER(working_);
  ChangeRecord record_ ABSL_GUARDED_BY(mutex_);
  bool is_news_ ABSL_GUARDED_BY(mutex_) = false;  // The record is to be saved.
  std::map<std::string, Notice> notices_ ABSL_GUARDED_BY(mutex_);
  absl::Time last_deadline_ ABSL_GUARDED_BY(mutex_);
  AuditEntry caller_ ABSL_GUARDED_BY(mutex_);            // Confirms or extends.
  absl::Duration extends_by_ ABSL_GUARDED_BY(mutex_);    // Zero: no extension.
  FactQueue::Ticket check_ ABSL_GUARDED_BY(mutex_) = 0;  // Under way.
  FindingValue check_failed_ ABSL_GUARDED_BY(mutex_);
  absl::Duration check_wait_ ABSL_GUARDED_BY(mutex_);
  absl::Time next_check_ ABSL_GUARDED_BY(mutex_) = absl::InfinitePast();
  std::vector<Answered> waiting_ ABSL_GUARDED_BY(mutex_);
  Answered extending_ ABSL_GUARDED_BY(mutex_);
  Scheduler::TimerId timer_ ABSL_GUARDED_BY(mutex_) = 0;
  bool over_ ABSL_GUARDED_BY(mutex_);  // Only reports of hosts may follow.
};

}  // namespace clusterd

#endif  // DAEMON_CONTROLLER_CHANGE_PENDING_CHANGE_H_
