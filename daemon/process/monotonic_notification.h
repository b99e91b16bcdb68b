// absl::Notification for bounded waits: Abseil's follow the wall clock, so
// setting it back at boot would extend them by as much.
#ifndef DAEMON_PROCESS_MONOTONIC_NOTIFICATION_H_
#define DAEMON_PROCESS_MONOTONIC_NOTIFICATION_H_

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>

#include "absl/time/time.h"

namespace clusterd {

// Safe for concurrent use. A wait that returned true sees effects before
// Notify.
class MonotonicNotification {
 public:
  // May be called once.
  void Notify() {
    const std::lock_guard<std::mutex> lock(mutex_);
    done_ = true;
    // Under the lock: a woken waiter may destroy this object.
    changed_.notify_all();
  }

  // False: there was no Notify within `limit`.
  bool WaitFor(absl::Duration limit) {
    const absl::Duration bounded =
        std::min<absl::Duration>(limit, absl::Hours(24 * 365));
    std::unique_lock<std::mutex> lock(mutex_);
    return changed_.wait_until(
        lock,
        std::chrono::steady_clock::now() + absl::ToChronoNanoseconds(bounded),
        [this] { return done_; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool done_ = false;
};

}  // namespace clusterd

#endif  // DAEMON_PROCESS_MONOTONIC_NOTIFICATION_H_
