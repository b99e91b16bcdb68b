// The real timers, and a clock that a test sets and stops: limits per second
// must not depend on a machine's speed.
#ifndef TESTS_SUPPORT_PROCESS_MOVED_CLOCK_H_
#define TESTS_SUPPORT_PROCESS_MOVED_CLOCK_H_

#include <atomic>
#include <functional>
#include <optional>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "daemon/process/scheduler.h"
#include "tests/support/wait/patience.h"

namespace clusterd {

// Safe for concurrent use.
class MovedClock final : public Scheduler {
 public:
  absl::Time Now() override {
    absl::MutexLock lock(&mutex_);
    return stopped_at_.value_or(absl::Now()) + moved_;
  }
  // Uses the real clock, even while this one is stopped.
  TimerId RunAfter(absl::Duration delay, std::function<void()> run) override {
    const bool waits = is_patient_ && delay >= absl::Seconds(1);
    return threads_.RunAfter(waits ? delay + kPatience : delay, std::move(run));
  }
  void Cancel(TimerId timer) override { threads_.Cancel(timer); }

  void Move(absl::Duration by) {
    absl::MutexLock lock(&mutex_);
    moved_ += by;
  }
  void Set(absl::Duration from_now) {
    absl::MutexLock lock(&mutex_);
    moved_ = from_now;
  }
  // From now on time only passes by Move and Set.
  void Stop() {
    absl::MutexLock lock(&mutex_);
    stopped_at_ = absl::Now();
  }
  // Like PatientScheduler, for timers that begin from now on; false ends it.
  void SetPatient(bool is_patient) { is_patient_ = is_patient; }

 private:
  absl::Mutex mutex_;
  absl::Duration moved_ ABSL_GUARDED_BY(mutex_);
  std::optional<absl::Time> stopped_at_ ABSL_GUARDED_BY(mutex_);
  std::atomic<bool> is_patient_{false};
  ThreadScheduler threads_;  // Last: its thread reads the members above.
};

}  // namespace clusterd

#endif  // TESTS_SUPPORT_PROCESS_MOVED_CLOCK_H_
