// One apply whose hosts take it back by themselves at their deadlines, from its
// end until nothing of it is open any more:
//   PENDING     all its hosts have their stream, and a check of the rules that
//               it touched passes on all of them; and a person has said that
//               it stays, unless nobody needs to     -> CONFIRMED
//               the first deadline has passed, all hosts have gone back, or it
//               is rolled back       -> GOES_BACK
//   CONFIRMED   every host is told, again and again while it is away; also one
//               that was lost in the run, once it says that it has it; over
//               when all are, or when the deadline of the last has passed
//   GOES_BACK   over when all hosts have said so, or the same
// What a host says counts for that host alone: the others may still be
// confirmed when one has gone back. A lost host that comes back says once when
// it goes back. Its word counts between the deadline counted from the begin of
// the run and the one counted from its end, both with their extensions.
// Losing a stream takes nothing back: the controller may be the one that is
// away. A check that fails is made again, less and less often. A person's yes,
// or more time, makes it at once, and it is made shortly before the deadline.
// The yes counts once the check has passed.
#ifndef DAEMON_CONTROLLER_CHANGE_PENDING_CHANGE_H_
#define DAEMON_CONTROLLER_CHANGE_PENDING_CHANGE_H_

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "daemon/controller/change/apply_end.h"
#include "daemon/controller/hosts/attached_hosts.h"
#include "daemon/controller/hosts/controller_parts.h"
#include "daemon/controller/hosts/fact_run.h"
#include "daemon/process/callback_gate.h"
#include "proto/agent_hub.pb.h"
#include "proto/audit.pb.h"
#include "proto/plan.pb.h"

namespace clusterd {

// How often it is looked whether hosts are back.
inline constexpr absl::Duration kPendingLook = absl::Seconds(5);
// From one check that failed to the next; twice as long each time. The last one
// is as long before the deadline, so that hosts can be told what it says.
inline constexpr absl::Duration kFirstCheckWait = absl::Seconds(15);
inline constexpr absl::Duration kLongestCheckWait = absl::Minutes(10);

// Safe for concurrent use; calls nothing under its lock but the scheduler and
// AttachedHosts::IsAttached.
class PendingChange : public std::enable_shared_from_this<PendingChange> {
 public:
  struct Callbacks {
    // Keeps it, or says in the log why not. On a thread that may block.
    std::function<void(const Confirmation& confirmation)> save;
    // Nothing of it is open any more. Once, on such a thread.
    std::function<void(const Confirmation& confirmation)> on_end;
  };
  using Answered =
      std::function<void(absl::StatusOr<Confirmation> confirmation)>;

  // `report`: of the apply that is over, PENDING, or CONFIRMED with hosts that
  // are not told. `plan`: null if the history has dropped it; then all rules
  // count. The parts must outlive it, or Stop.
  PendingChange(ApplyReport report, std::shared_ptr<const ClusterPlan> plan,
                const ControllerParts& parts, Callbacks callbacks);

  void Start() { LookSoon(); }

  // A person says that it stays. `answered` once every host that can be told
  // now has answered, with what is still waited for; once, from any thread.
  //   FailedPrecondition  it goes back already
  void Confirm(const AuditEntry& caller, Answered answered)
      ABSL_LOCKS_EXCLUDED(mutex_);
  // Moves all deadlines. The whole goes back by its earliest, so it is not
  // moved if a host does not take it.
  //   InvalidArgument     over kLongestConfirmWithin in all, or by less than
  //                       kShortestConfirmWithin
  //   FailedPrecondition  it is confirmed, or goes back; or a host is away
  //   Unavailable         somebody moves them already; or one did not take it
  void Extend(const AuditEntry& caller, absl::Duration by,
              const Answered& answered) ABSL_LOCKS_EXCLUDED(mutex_);
  // A rollback of it has begun: nothing is confirmed any more, and on_end is
  // not called.
  Confirmation GiveUp() ABSL_LOCKS_EXCLUDED(mutex_);

  // What a host tells. Does not block.
  void OnPastApplies(const std::string& host, const PastApplies& past)
      ABSL_LOCKS_EXCLUDED(mutex_);
  // The controller stops. No part is used any more when it returns.
  void Stop() ABSL_LOCKS_EXCLUDED(mutex_);

  const std::string& apply_id() const { return head_.apply_id(); }
  const ApplyReport& head() const { return head_; }
  // As it is now, with waits_for.
  Confirmation confirmation() const ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    return NowLocked();
  }
  // Whether the host may have it, and not for good.
  bool IsOpenOn(const std::string& host) const ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  struct HostState {
    bool waits = false;    // Has it, and would take it back.
    bool told = false;     // Keeps it.
    bool gone = false;     // Has taken it back.
    bool unknown = false;  // Was lost, and has not told yet whether it has it.
    bool asked = false;    // Has a task of ours.
    FindingValue why_not;  // Of its newest answer that refused.
    bool refused = false;  // The newest one did.
    absl::Time not_before = absl::InfinitePast();  // To be told again.
  };

  static bool IsOpen(const HostState& host) {
    return host.waits || host.unknown;
  }

  // Does what is due. On the pool.
  void Look() ABSL_LOCKS_EXCLUDED(looking_, mutex_);
  void LookSoon();
  // The host says for the first time that it goes back at that time.
  void TakeDeadlineLocked(const std::string& host, absl::Time at)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // It has it. False: that is no news.
  bool BeginWaitLocked(HostState* state) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void StepLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool IsOverLocked() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  std::vector<std::string> AwayLocked() const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  std::vector<std::string> UntoldLocked() const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Whom to tell now; they are asked from here on.
  std::vector<std::string> TakeUntoldLocked()
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool AnyAskedLocked() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  Confirmation NowLocked() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  // Somebody may just have mended what the last check found.
  void CheckSoonLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  std::shared_ptr<FactRun> TakeCheckLocked()
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void OnFacts(const std::shared_ptr<const FactOrder>& order,
               const std::vector<HostFacts>& facts) ABSL_LOCKS_EXCLUDED(mutex_);
  // REQUIRES: they are marked as asked.
  void Tell(const std::vector<std::string>& hosts, absl::Duration extend_by)
      ABSL_LOCKS_EXCLUDED(mutex_);
  void OnTold(const std::string& host, absl::Duration extend_by,
              const absl::StatusOr<TaskResult>& answer)
      ABSL_LOCKS_EXCLUDED(mutex_);
  void EndExtend() ABSL_LOCKS_EXCLUDED(mutex_);

  const ApplyReport head_;
  const std::shared_ptr<const ClusterPlan> plan_;
  const ControllerParts parts_;
  const Callbacks callbacks_;
  const CallbackGate gate_;

  // Held by the one thread that looks, until it has saved: an older state must
  // not replace a newer one.
  absl::Mutex looking_;
  mutable absl::Mutex mutex_ ABSL_ACQUIRED_AFTER(looking_);
  Confirmation confirmation_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, HostState> hosts_ ABSL_GUARDED_BY(mutex_);
  absl::Time last_deadline_ ABSL_GUARDED_BY(mutex_);
  AuditEntry caller_ ABSL_GUARDED_BY(mutex_);  // Who has the hosts told.
  absl::Duration extends_by_ ABSL_GUARDED_BY(mutex_);  // Zero: nobody does.
  std::shared_ptr<FactRun> check_ ABSL_GUARDED_BY(mutex_);
  std::string check_id_ ABSL_GUARDED_BY(mutex_);  // Of its order.
  FindingValue check_failed_ ABSL_GUARDED_BY(mutex_);
  absl::Duration check_wait_ ABSL_GUARDED_BY(mutex_);
  absl::Time next_check_ ABSL_GUARDED_BY(mutex_) = absl::InfinitePast();
  std::vector<Answered> waiting_ ABSL_GUARDED_BY(mutex_);
  Answered extending_ ABSL_GUARDED_BY(mutex_);
  std::string saved_ ABSL_GUARDED_BY(mutex_);  // As KeptBytes.
  Scheduler::TimerId timer_ ABSL_GUARDED_BY(mutex_) = 0;
  bool over_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace clusterd

#endif  // DAEMON_CONTROLLER_CHANGE_PENDING_CHANGE_H_
