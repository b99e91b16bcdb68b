// The drift of this host. AppliesRecord keeps the settings of applies in
// memory; it reads journals at start and after every change, never for a check.
// AgentObserver adds drift to observations. DriftWatch reports to the
// controller after attaching, after a change, and on an interval, varied by a
// tenth so that hosts do not report in step. It runs one check at a time, and
// none during an apply or without a controller. It drops a check that an apply
// overlapped. Without applies it reports no drift and leaves the machine alone.
#ifndef DAEMON_AGENT_DRIFT_WATCH_H_
#define DAEMON_AGENT_DRIFT_WATCH_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "config/plan/applied_drift.h"
#include "config/words/message.h"
#include "daemon/agent/apply/journal.h"
#include "daemon/audit/audit_log.h"
#include "daemon/host/host_observer.h"
#include "daemon/process/callback_gate.h"
#include "daemon/process/scheduler.h"
#include "daemon/process/worker_pool.h"
#include "proto/agent_hub.pb.h"
#include "proto/facts.pb.h"

namespace clusterd {

// Drift is missing between BeginChange and EndChange, which enclose each change
// of the host, so that a host in an apply does not count as drifted. Safe for
// concurrent use.
class AppliesRecord {
 public:
  // An apply, rollback or recovery begins. One at a time.
  void BeginChange() ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    changes_ |= 1;
  }
  // `journals`: the current result of Applier::ListApplies. `unfinished`: why
  // an undo is still pending; unset: none is.
  void EndChange(const absl::StatusOr<std::vector<JournalState>>& journals,
                 const FindingValue& unfinished = {})
      ABSL_LOCKS_EXCLUDED(mutex_);

  // Replaces EndChange if nothing has changed since the last EndChange.
  void EndUnchanged() ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    changes_ = (changes_ | 1) + 1;
  }

  // Calls `changed` after each EndChange, on its thread; empty: none. Holds one
  // listener. Must not be called while a change may end.
  void Listen(std::function<void()> changed) ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    changed_ = std::move(changed);
  }

  // Odd while the host is being changed; a change always makes it a new number.
  uint64_t change_count() const ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    return changes_;
  }

  // True if the journals are known and hold an apply in effect. Otherwise
  // DriftOf needs no facts of the machine.
  bool needs_facts() const ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    return applies_.ok() && !(*applies_)->empty();
  }

  // Drift of facts that were observed since change_count() was `count_before`.
  // Missing, NOT_QUERIED, if the host was being changed meanwhile; UNREADABLE
  // or NOT_PERMITTED if the journals cannot be read.
  DriftFact DriftOf(const HostFacts& facts, uint64_t count_before) const
      ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  using Applies = std::vector<EndedApply>;

  mutable absl::Mutex mutex_;
  uint64_t changes_ ABSL_GUARDED_BY(mutex_) = 0;
  std::function<void()> changed_ ABSL_GUARDED_BY(mutex_);
  FindingValue unfinished_ ABSL_GUARDED_BY(mutex_);
  absl::StatusOr<std::shared_ptr<const Applies>> applies_
      ABSL_GUARDED_BY(mutex_) = UnavailableWords("agent-journals-unread");
};

// Observes through another observer, and adds drift since the applies. Also
// adds the changes that the host allows a controller, so that plans omit
// others. As safe for concurrent use as `read_allows`.
class AgentObserver final : public HostObserver {
 public:
  using ReadAllows = std::function<HostAllows()>;
  using ReadRootsFact = std::function<RootsFact()>;

  // All pointers must outlive it. `audit` gets a line before and after this
  // host logs in to others; null: no audit file.
  AgentObserver(HostObserver* observer, const AppliesRecord* record,
                ReadAllows read_allows, AuditLog* audit = nullptr,
                ReadRootsFact read_roots = nullptr)
      : observer_(observer),
        record_(record),
        read_allows_(std::move(read_allows)),
        read_roots_(std::move(read_roots)),
        audit_(audit) {}

  // HostFacts.roots is the result of `read_roots`, unset without one.
  // HostFacts.allows is the file's current content, unset if nothing is known
  // about the host. Runs an ssh check only if the file allows ssh-login and the
  // audit file has a line. Otherwise HostFacts.ssh is NOT_PERMITTED, with what
  // to add, or why there is no line. HostFacts.drift stays unset in another
  // network namespace.
  HostFacts ObserveFor(const std::string& host, const ObserveRequest& request,
                       const Asker& asker) override;

 private:
  HostObserver* const observer_;
  const AppliesRecord* const record_;
  const ReadAllows read_allows_;
  const ReadRootsFact read_roots_;
  AuditLog* const audit_;
};

inline constexpr absl::Duration kDefaultDriftInterval = absl::Minutes(10);

// Safe for concurrent use.
class DriftWatch {
 public:
  // All pointers must live until Stop.
  struct Parts {
    // Observes the host; runs on a thread of the pool, for minutes at worst.
    std::function<HostFacts()> observe;
    const AppliesRecord* record = nullptr;
    // From any thread; must not block.
    std::function<void(DriftReport report)> send;
    // Draws from [0, 1); from any thread.
    std::function<double()> random;
    Scheduler* scheduler = nullptr;
    WorkerPool* pool = nullptr;
  };

  // Zero `interval`: only after attaching and after changes.
  DriftWatch(absl::Duration interval, Parts parts)
      : interval_(interval), parts_(std::move(parts)) {}
  ~DriftWatch() { Stop(); }

  // The host has attached or detached. Does not block.
  void OnAttached(bool attached) ABSL_LOCKS_EXCLUDED(mutex_);
  // A change of the host has ended, or a check is due. Does not block.
  void OnChanged() ABSL_LOCKS_EXCLUDED(mutex_) {
    const CallbackGate::Pass pass(gate_);
    if (!pass) return;
    absl::MutexLock lock(&mutex_);
    BeginLocked();
  }

  // Ends the checks, waits for a running one, and then uses no parts.
  void Stop() ABSL_LOCKS_EXCLUDED(mutex_) {
    gate_.Close();
    absl::MutexLock lock(&mutex_);
    SetTimerLocked(absl::InfiniteDuration());
  }

 private:
  // An infinite delay sets no timer.
  void SetTimerLocked(absl::Duration delay)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    parts_.scheduler->Cancel(timer_);
    timer_ = 0;
    if (delay == absl::InfiniteDuration()) return;
    timer_ =
        parts_.scheduler->RunAfter(delay, gate_.Wrap([this] { OnChanged(); }));
  }
  void BeginLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void RunRound() ABSL_LOCKS_EXCLUDED(mutex_);
  absl::Duration NextDelay() const {
    if (interval_ == absl::ZeroDuration()) return absl::InfiniteDuration();
    constexpr double kJitter = 0.1;
    return interval_ * (1 - kJitter + 2 * kJitter * parts_.random());
  }

  const absl::Duration interval_;
  const Parts parts_;
  const CallbackGate gate_;

  absl::Mutex mutex_;
  bool attached_ ABSL_GUARDED_BY(mutex_) = false;
  bool in_round_ ABSL_GUARDED_BY(mutex_) = false;  // Or about to.
  // The running check may be outdated, so another one must follow.
  bool again_ ABSL_GUARDED_BY(mutex_) = false;
  Scheduler::TimerId timer_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace clusterd

#endif  // DAEMON_AGENT_DRIFT_WATCH_H_
