// The applies and rollbacks of this controller: what is refused, that only one
// runs at a time, what the history keeps of them, and what hosts tell of them
// later. Knows no gRPC and no roles.
//
// Refusals of an apply; none has asked a host:
//   InvalidArgument     the plan's digest is not that of its content, its id is
//                       none, it is for another cluster, names a host twice, or
//                       one that is not in the spec
//   FailedPrecondition  the plan is of a newer schema; it has nothing to do; or
//                       a host to be changed is not attached (named)
//   Aborted             the spec has changed since: plan again
//   Unavailable         another apply or rollback runs (named)
//   others              the history cannot be written
#ifndef DAEMON_CONTROLLER_CLUSTER_CHANGES_H_
#define DAEMON_CONTROLLER_CLUSTER_CHANGES_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "daemon/controller/apply_run.h"
#include "daemon/controller/attached_hosts.h"
#include "daemon/controller/history/history_store.h"
#include "daemon/controller/spec_holder.h"
#include "daemon/log/log.h"
#include "daemon/process/scheduler.h"
#include "daemon/process/worker_pool.h"
#include "proto/agent_hub.pb.h"
#include "proto/controller.pb.h"
#include "proto/plan.pb.h"

namespace clusterd {

inline constexpr uint32_t kDefaultWaveSize = 32;

// Who asks, and how it should be done.
struct ChangeRequest {
  // The user's name; "clusterd-controller" for what it begins by itself.
  std::string actor;
  // For the log: role and address, e.g. "operator, ipv4:10.0.0.9:5123".
  std::string from;
  uint32_t wave_size = 0;  // 0: kDefaultWaveSize.
  bool force = false;
  bool enforced = false;
};

// The steps of a plan, one that opens ports counted once for each of them: each
// is commands of its own.
int CountChanges(const HostPlan& plan);

// How long one host's apply or rollback is waited for. Each change saves, does,
// reads back and may be undone: four commands, none longer than `command_ms`.
// Two minutes more, for observing before and after: the least there is. At most
// a day.
absl::Duration HostChangeDeadline(int changes, uint32_t command_ms);

// Safe for concurrent use; calls nothing under its lock.
class ClusterChanges {
 public:
  struct Parts {
    AttachedHosts* hosts = nullptr;
    const SpecHolder* spec = nullptr;
    HistoryStore* history = nullptr;
    Scheduler* scheduler = nullptr;
    WorkerPool* pool = nullptr;
    Log* log = nullptr;
    absl::Duration reattach_wait = absl::Seconds(30);
  };

  // All parts must outlive it.
  ClusterChanges(std::string cluster, const Parts& parts);
  // Stops.
  ~ClusterChanges();
  ClusterChanges(const ClusterChanges&) = delete;
  ClusterChanges& operator=(const ClusterChanges&) = delete;

  // Before any host attaches: what was running when the last controller ended
  // is INTERRUPTED, and hosts that were lost may still tell. Blocks.
  void Recover() ABSL_LOCKS_EXCLUDED(mutex_);

  // Begins to apply a plan of this controller: one that it has just made, or
  // one from ReadKeptPlan. Blocks on the history, so not for a thread
  // that must not block. The run goes on whether or not it is kept.
  absl::StatusOr<std::shared_ptr<ApplyRun>> StartApply(
      std::shared_ptr<const ClusterPlan> plan, const ChangeRequest& request,
      ApplyWatcher watcher) ABSL_LOCKS_EXCLUDED(mutex_);

  // Takes an apply back on every host that it may have changed and that has not
  // been taken back yet, or not wholly. `apply_id`: as HistoryStore::FindApply.
  // Otherwise as StartApply; FailedPrecondition if no such host is left.
  absl::StatusOr<std::shared_ptr<ApplyRun>> StartRollback(
      const std::string& apply_id, const ChangeRequest& request,
      ApplyWatcher watcher) ABSL_LOCKS_EXCLUDED(mutex_);

  // A HostHooks::past_applies. Does not block.
  void OnPastApplies(const std::string& host, const PastApplies& past)
      ABSL_LOCKS_EXCLUDED(mutex_);

  // Breaks off what runs; no part is used any more by it when this returns.
  // Nothing is started after it.
  void Stop() ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  // The one that runs, or is about to.
  struct Holder {
    std::string what;  // "apply 0123456789abcdef of alice"
    absl::Time since;
  };
  struct Prepared {
    ApplyOrder order;
    std::string network_namespace;  // As NetworkNamespaceText.
  };
  // A run that is over, with hosts that are LOST.
  struct Unsettled {
    std::string apply_id;
    bool rollback = false;
    std::set<std::string> hosts;
  };
  // What a host's entry in a kept report becomes.
  struct Correction {
    std::string run_id;
    ApplyResult result;
    // Set: not what came of the run, but who took it back.
    std::string rolled_back_by;
  };

  // What a timer that nobody waits for may still call.
  struct Retry {
    absl::Mutex mutex;
    ClusterChanges* changes ABSL_GUARDED_BY(mutex) = nullptr;
  };

  absl::Status CheckPlan(const ClusterPlan& plan) const;
  absl::Status CheckAttached(const ApplyOrder& order) const;
  absl::StatusOr<ApplyOrder> OrderOfApply(
      std::shared_ptr<const ClusterPlan> plan) const;
  absl::StatusOr<ApplyOrder> OrderOfRollback(const HistoryRecord& record) const;
  absl::StatusOr<std::shared_ptr<ApplyRun>> Start(
      bool rollback, const ChangeRequest& request,
      const std::function<absl::StatusOr<Prepared>()>& prepare,
      ApplyWatcher watcher) ABSL_LOCKS_EXCLUDED(mutex_);
  std::shared_ptr<ApplyRun> MakeRun(Prepared prepared, ApplyWatcher watcher);
  absl::Status TakeTurn(const Holder& holder) ABSL_LOCKS_EXCLUDED(mutex_);
  void GiveTurn() ABSL_LOCKS_EXCLUDED(mutex_);
  void OnRunEnd(const ApplyReport& report) ABSL_LOCKS_EXCLUDED(mutex_);
  void RememberLostLocked(const ApplyReport& report)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Interrupt(HistoryRecord record) ABSL_LOCKS_EXCLUDED(mutex_);
  void CorrectSoon() ABSL_LOCKS_EXCLUDED(mutex_);
  void CorrectAll() ABSL_LOCKS_EXCLUDED(mutex_);
  void Correct(const std::string& run_id,
               const std::vector<Correction>& corrections);

  const std::string cluster_;
  const Parts parts_;
  const std::shared_ptr<Retry> retry_;

  absl::Mutex mutex_;
  std::optional<Holder> holder_ ABSL_GUARDED_BY(mutex_);
  std::shared_ptr<ApplyRun> run_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, Unsettled> unsettled_ ABSL_GUARDED_BY(mutex_);
  std::deque<Correction> corrections_ ABSL_GUARDED_BY(mutex_);
  // One thread at a time corrects what is kept.
  bool correcting_ ABSL_GUARDED_BY(mutex_) = false;
  int busy_ ABSL_GUARDED_BY(mutex_) = 0;  // The turn, and corrections.
  bool stopped_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace clusterd

#endif  // DAEMON_CONTROLLER_CLUSTER_CHANGES_H_
