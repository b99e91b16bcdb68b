// Restores drifted values where the spec has `enforce` for that kind of change.
// It plans the observed host, keeps only values that an apply had set
// (config/plan/applied_drift.h), and applies them as "clusterd-controller".
//
// Limits against storms:
//   hosts                 one after the other
//   one host              at most one try every 10 minutes; each wait doubles,
//                         up to a day, after a failure or renewed drift; a
//                         host without drift for the current wait is reset
//   another apply runs    left for the next report
//   the host's own veto   holds, as for every apply
#ifndef DAEMON_CONTROLLER_CHANGE_DRIFT_ENFORCER_H_
#define DAEMON_CONTROLLER_CHANGE_DRIFT_ENFORCER_H_

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
#include "daemon/controller/queue/fact_queue.h"
#include "daemon/process/callback_gate.h"
#include "daemon/process/log.h"
#include "daemon/process/scheduler.h"
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
    // The current spec.
    std::function<std::shared_ptr<const ClusterSpec>()> spec;
    // Begins an enforced apply, on a thread that may block. Calls `done` once,
    // unless it returns an error: Unavailable if another run is under way.
    std::function<absl::Status(std::shared_ptr<const ClusterPlan> plan,
                               OnApplied done)>
        apply;
    FactQueue* queue = nullptr;  // One host after the other.
    Scheduler* scheduler = nullptr;
    Log* log = nullptr;
  };

  // Everything in the parts must live until Stop.
  explicit DriftEnforcer(Parts parts) : parts_(std::move(parts)) {}
  ~DriftEnforcer() { Stop(); }

  // For HostHooks::drift. Does not block.
  void OnDrift(const std::string& host, const DriftReport& report)
      ABSL_LOCKS_EXCLUDED(mutex_);

  // No part is used after it returns. A change that has begun on a host
  // continues. Must not be called from a callback.
  void Stop();

 private:
  enum class End {
    kTried,    // The next try waits longer.
    kNothing,  // There was nothing to do.
    kLater,    // The host was not at fault.
  };
  struct Host {
    absl::Time not_before = absl::InfinitePast();
    // The wait after the last try; zero: none yet.
    absl::Duration wait = absl::ZeroDuration();
    FactQueue::Ticket ticket = 0;  // Queued, or at work.
    Scheduler::TimerId timer = 0;
  };

  void Enqueue(const std::string& host) ABSL_LOCKS_EXCLUDED(mutex_);
  void PutBack(const std::string& host, const HostFacts& facts);
  End Begin(const std::string& host, ClusterPlan plan);
  void Finish(const std::string& host, End end) ABSL_LOCKS_EXCLUDED(mutex_);
  // Logs about the host.
  template <typename... Parts>
  void Say(const std::string& host, const Parts&... parts) const {
    parts_.log->Notice("host ", host, ": enforce: ", parts...);
  }

  const Parts parts_;
  const CallbackGate gate_;

  absl::Mutex mutex_;
  std::map<std::string, Host> hosts_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace clusterd

#endif  // DAEMON_CONTROLLER_CHANGE_DRIFT_ENFORCER_H_
