// A Scheduler whose time only a test advances.
#ifndef TESTS_SUPPORT_PROCESS_MANUAL_SCHEDULER_H_
#define TESTS_SUPPORT_PROCESS_MANUAL_SCHEDULER_H_

#include <functional>
#include <map>
#include <utility>

#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "daemon/process/scheduler.h"

namespace clusterd {

// Begins at 2024-01-01 00:00:00 UTC.
class ManualScheduler final : public Scheduler {
 public:
  absl::Time Now() override;
  TimerId RunAfter(absl::Duration delay, std::function<void()> run) override;
  void Cancel(TimerId timer) override;

  // Advances the time and runs due timers in order, on the caller's thread.
  void Advance(absl::Duration by);

  // Timers that wait.
  int pending();
  // Time until the first of them is due; infinite if there is none.
  absl::Duration UntilNext();
  // Blocks until `count` timers wait; false if that takes over kPatience.
  bool WaitForPending(int count);

 private:
  // Removes the first timer that is due; null if none is.
  std::function<void()> TakeDue();

  absl::Mutex mutex_;
  absl::Time now_ ABSL_GUARDED_BY(mutex_) = absl::FromUnixSeconds(1704067200);
  TimerId last_id_ ABSL_GUARDED_BY(mutex_) = 0;
  std::map<std::pair<absl::Time, TimerId>, std::function<void()>> pending_
      ABSL_GUARDED_BY(mutex_);
};

}  // namespace clusterd

#endif  // TESTS_SUPPORT_PROCESS_MANUAL_SCHEDULER_H_
