// Looks at this host again and again and tells the controller what drifted:
// when the host has attached, when a change of it has ended, and on an
// interval, give or take a tenth so that hosts do not answer in step.
//   never two looks at once; none while an apply runs, and what such a look
//   would have seen is not sent; none while nobody listens; where nothing is
//   applied the machine is not touched, and the report says no drift
#ifndef DAEMON_AGENT_DRIFT_WATCH_H_
#define DAEMON_AGENT_DRIFT_WATCH_H_

#include <functional>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "daemon/agent/applies_record.h"
#include "daemon/process/callback_gate.h"
#include "daemon/process/scheduler.h"
#include "daemon/process/worker_pool.h"
#include "proto/agent_hub.pb.h"
#include "proto/facts.pb.h"

namespace clusterd {

inline constexpr absl::Duration kDefaultDriftInterval = absl::Minutes(10);

// Safe for concurrent use.
class DriftWatch {
 public:
  // All pointers must live until Stop.
  struct Parts {
    // Observes the host; on a thread of the pool, for minutes at worst.
    std::function<HostFacts()> observe;
    const AppliesRecord* record = nullptr;
    // From any thread; must not block.
    std::function<void(DriftReport report)> send;
    // Draws from [0, 1); from any thread.
    std::function<double()> random;
    Scheduler* scheduler = nullptr;
    WorkerPool* pool = nullptr;
  };

  // `interval` zero: only when attached and after changes.
  DriftWatch(absl::Duration interval, Parts parts)
      : interval_(interval), parts_(std::move(parts)) {}
  ~DriftWatch() { Stop(); }

  // The host has attached, or is so no more. Does not block.
  void OnAttached(bool attached) ABSL_LOCKS_EXCLUDED(mutex_);
  // A change of the host has ended, or it is time to look. Does not block.
  void OnChanged() ABSL_LOCKS_EXCLUDED(mutex_);

  // Looks no more, and waits for the look under way. Nothing of the parts is
  // used any more when this returns.
  void Stop() ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  // Infinite: none.
  void SetTimerLocked(absl::Duration delay)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void BeginLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Look() ABSL_LOCKS_EXCLUDED(mutex_);
  absl::Duration NextDelay() const;

  const absl::Duration interval_;
  const Parts parts_;
  const CallbackGate gate_;

  absl::Mutex mutex_;
  bool attached_ ABSL_GUARDED_BY(mutex_) = false;
  bool looking_ ABSL_GUARDED_BY(mutex_) = false;  // Or about to.
  // What is seen now may be old news: look once more.
  bool again_ ABSL_GUARDED_BY(mutex_) = false;
  Scheduler::TimerId timer_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace clusterd

#endif  // DAEMON_AGENT_DRIFT_WATCH_H_
