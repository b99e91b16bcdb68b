// Runs the deadlines and waits of both daemons, so that tests control the time.
#ifndef DAEMON_PROCESS_SCHEDULER_H_
#define DAEMON_PROCESS_SCHEDULER_H_

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <thread>
#include <utility>

#include "absl/time/time.h"

namespace clusterd {

// Safe for concurrent use.
class Scheduler {
 public:
  using TimerId = uint64_t;  // Never 0.

  virtual ~Scheduler() = default;

  // The wall clock.
  virtual absl::Time Now() = 0;

  // Calls `run` after `delay`, unless the timer is cancelled or the scheduler
  // destroyed before. `run` must not block; it may call the scheduler.
  virtual TimerId RunAfter(absl::Duration delay, std::function<void()> run) = 0;

  // Removes a timer without waiting for it to finish. Ignores 0 and ended
  // timers.
  virtual void Cancel(TimerId timer) = 0;
};

// Calls `run` now and after each `interval`, until the scheduler is destroyed.
// As for RunAfter, `run` must not block.
void RunEvery(Scheduler* scheduler, absl::Duration interval,
              const std::function<void()>& run);

// Has one thread, which wakes up only when a timer is due. Setting the system
// clock does not affect delays.
class ThreadScheduler final : public Scheduler {
 public:
  ThreadScheduler();
  // Drops pending timers and waits for a running one.
  ~ThreadScheduler() override;

  absl::Time Now() override;
  TimerId RunAfter(absl::Duration delay, std::function<void()> run) override;
  void Cancel(TimerId timer) override;

 private:
  using Due = std::chrono::steady_clock::time_point;
  using Key = std::pair<Due, TimerId>;

  void Run();

  // Not absl::Mutex: its timed waits follow the wall clock, so setting that
  // back at boot would delay every timer by as much.
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<Key, std::function<void()>> pending_;
  std::map<TimerId, Due> due_;
  TimerId last_id_ = 0;
  bool stopping_ = false;
  std::thread thread_;  // Last: uses everything above.
};

// absl::Notification for bounded waits: Abseil's follow the wall clock, so
// setting it back at boot would extend them by as much. Safe for concurrent
// use. A wait that returned true sees effects before Notify.
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

// Time limit for a peer to accept a written message. gRPC reports only whole
// messages, so longer ones get more time.
inline constexpr absl::Duration kWriteStall = absl::Seconds(30);
inline constexpr size_t kLeastBytesPerSecond = 64 << 10;

// 30 s, and a second for every 64 KiB.
inline absl::Duration WriteTimeFor(size_t bytes) {
  return kWriteStall +
         absl::Seconds(static_cast<int64_t>(bytes / kLeastBytesPerSecond));
}

}  // namespace clusterd

#endif  // DAEMON_PROCESS_SCHEDULER_H_
