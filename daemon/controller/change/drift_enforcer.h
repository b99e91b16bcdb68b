// Puts back by itself what drifted on a host, where the spec says `enforce` for
// that kind of change: observes the host, plans it, keeps of the plan only what
// an apply had set (config/plan/applied_drift.h), and has that applied as an
// apply of "clusterd-controller".
//
// Never a storm:
//   hosts                 one after the other
//   one host              a try every 10 minutes at most; the next one waits
//                         twice as long, up to a day, whether it failed or the
//                         value drifted back; a host that holds for as long as
//                         it would have had to wait starts anew
//   another apply runs    left for the next report
//   the host's own veto   holds, as for every apply
#ifndef DAEMON_CONTROLLER_CHANGE_DRIFT_ENFORCER_H_
#define DAEMON_CONTROLLER_CHANGE_DRIFT_ENFORCER_H_

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "config/plan/applied_drift.h"
#include "daemon/controller/hosts/attached_hosts.h"
#include "daemon/process/callback_gate.h"
#include "daemon/process/log.h"
#include "daemon/process/scheduler.h"
#include "daemon/process/worker_pool.h"
#include "proto/agent_hub.pb.h"
#include "proto/facts.pb.h"
#include "proto/plan.pb.h"
#include "proto/spec.pb.h"

namespace clusterd {

inline constexpr absl::Duration kFirstEnforceWait = absl::Minutes(10);
inline constexpr absl::Duration kLongestEnforceWait = absl::Hours(24);

// Safe for concurrent use; calls nothing under its lock.
class DriftEnforcer {
 public:
  using OnApplied = std::function<void(absl::StatusOr<ApplyReport> report)>;
  struct Parts {
    // The spec as it is now.
    std::function<std::shared_ptr<const ClusterSpec>()> spec;
    // AttachedHosts::Observe.
    std::function<void(const HostTask& observation, AttachedHosts::Done)>
        observe;
    // Begins an enforced apply; on a thread that may block. `done` is called
    // once, unless this returns an error: Unavailable if another run is under
    // way.
    std::function<absl::Status(std::shared_ptr<const ClusterPlan> plan,
                               OnApplied done)>
        apply;
    Scheduler* scheduler = nullptr;
    WorkerPool* pool = nullptr;
    Log* log = nullptr;
  };

  // Everything in the parts must live until Stop.
  explicit DriftEnforcer(Parts parts) : parts_(std::move(parts)) {}
  ~DriftEnforcer() { Stop(); }

  // A HostHooks::drift. Does not block.
  void OnDrift(const std::string& host, const DriftReport& report)
      ABSL_LOCKS_EXCLUDED(mutex_);

  // No part is used any more when this returns. What was begun on a host goes
  // on there. Must not be called from a callback.
  void Stop();

 private:
  enum class End {
    kTried,    // The next try waits longer.
    kNothing,  // Nothing was to be done.
    kLater,    // It was not this host's fault.
  };
  struct Host {
    absl::Time not_before = absl::InfinitePast();
    // Since the last try; zero: none yet.
    absl::Duration wait = absl::ZeroDuration();
    bool queued = false;  // Or at work.
    Scheduler::TimerId timer = 0;
  };

  void Enqueue(const std::string& host) ABSL_LOCKS_EXCLUDED(mutex_);
  void StartNext() ABSL_LOCKS_EXCLUDED(mutex_);
  void PutBack(const std::string& host, const HostFacts& facts);
  End Begin(const std::string& host, ClusterPlan plan);
  void Finish(const std::string& host, End end) ABSL_LOCKS_EXCLUDED(mutex_);
  // For the log.
  template <typename... Parts>
  void Say(const std::string& host, const Parts&... parts) const {
    parts_.log->Notice("host ", host, ": enforce: ", parts...);
  }

  const Parts parts_;
  const CallbackGate gate_;

  absl::Mutex mutex_;
  std::map<std::string, Host> hosts_ ABSL_GUARDED_BY(mutex_);
  std::deque<std::string> queue_ ABSL_GUARDED_BY(mutex_);
  bool at_work_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace clusterd

#endif  // DAEMON_CONTROLLER_CHANGE_DRIFT_ENFORCER_H_
