// A clock that only moves when a caller sleeps or advances it.
#ifndef TESTS_SUPPORT_HOST_FAKE_CLOCK_H_
#define TESTS_SUPPORT_HOST_FAKE_CLOCK_H_

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "daemon/host/command/clock.h"

namespace clusterd {

// Safe for concurrent use.
class FakeClock final : public Clock {
 public:
  explicit FakeClock(absl::Time now = absl::FromUnixSeconds(1700000000))
      : now_(now) {}

  absl::Time Now() override {
    absl::MutexLock lock(&mutex_);
    return now_ + passed_;
  }
  absl::Duration Monotonic() override {
    absl::MutexLock lock(&mutex_);
    return passed_;
  }
  // Returns at once; the time has then passed for all callers.
  void SleepFor(absl::Duration duration) override { Advance(duration); }

  // Sets only the wall clock.
  void SetWall(absl::Time now) {
    absl::MutexLock lock(&mutex_);
    now_ = now - passed_;
  }

  void Advance(absl::Duration duration) {
    absl::MutexLock lock(&mutex_);
    passed_ += duration;
  }

 private:
  absl::Mutex mutex_;
  absl::Time now_ ABSL_GUARDED_BY(mutex_);
  absl::Duration passed_ ABSL_GUARDED_BY(mutex_) = absl::ZeroDuration();
};

}  // namespace clusterd

#endif  // TESTS_SUPPORT_HOST_FAKE_CLOCK_H_
