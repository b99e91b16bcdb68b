// Runs things later: deadlines and waits of both daemons, so that tests decide
// when time passes.
#ifndef DAEMON_PROCESS_SCHEDULER_H_
#define DAEMON_PROCESS_SCHEDULER_H_

#include <condition_variable>
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

  // Calls `run` once when `delay` has passed, unless the timer is cancelled or
  // the scheduler is destroyed before. `run` must not block; it may call the
  // scheduler.
  virtual TimerId RunAfter(absl::Duration delay, std::function<void()> run) = 0;

  // Takes a timer off. Does not wait for one that is running. Ids of timers
  // that have run, and 0, are ignored.
  virtual void Cancel(TimerId timer) = 0;
};

// Calls `run` at once, and again whenever `interval` has passed, until the
// scheduler is destroyed. As for RunAfter, `run` must not block.
void RunEvery(Scheduler* scheduler, absl::Duration interval,
              const std::function<void()>& run);

// One thread of its own; it wakes up when a timer is due and at no other time.
// Delays do not notice when somebody sets the clock.
class ThreadScheduler final : public Scheduler {
 public:
  ThreadScheduler();
  // Drops what is pending and waits for what is running.
  ~ThreadScheduler() override;

  absl::Time Now() override;
  TimerId RunAfter(absl::Duration delay, std::function<void()> run) override;
  void Cancel(TimerId timer) override;

 private:
  using Due = std::chrono::steady_clock::time_point;
  using Key = std::pair<Due, TimerId>;

  void Run();

  // Not absl::Mutex: its timed waits follow the wall clock, so a clock that is
  // set back at boot would hold up every timer by as much.
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<Key, std::function<void()>> pending_;
  std::map<TimerId, Due> due_;
  TimerId last_id_ = 0;
  bool stopping_ = false;
  std::thread thread_;  // Last: uses everything above.
};

}  // namespace clusterd

#endif  // DAEMON_PROCESS_SCHEDULER_H_
