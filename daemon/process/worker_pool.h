// A fixed number of threads for work that blocks or takes long, and a bounded
// queue in front of them. What must not wait for the rest has a queue of its
// own, which every thread looks at first, and threads that do nothing else.
#ifndef DAEMON_PROCESS_WORKER_POOL_H_
#define DAEMON_PROCESS_WORKER_POOL_H_

#include <chrono>
#include <cstddef>
#include <deque>
#include <functional>
#include <set>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"

namespace clusterd {

// Safe for concurrent use.
class WorkerPool {
 public:
  enum class Place { kInTurn, kFirst };

  // `first_threads` do only what goes first. REQUIRES: threads >= 1.
  WorkerPool(int threads, size_t max_queued, int first_threads = 0);
  // Waits for what is running; what is still queued never runs.
  ~WorkerPool();

  // False, and `work` will not run, if max_queued items wait in that place
  // already.
  bool TryRun(std::function<void()> work, Place place = Place::kInTurn)
      ABSL_LOCKS_EXCLUDED(mutex_);
  // Blocks until nothing runs and nothing is queued. Not from the pool itself.
  void Drain() ABSL_LOCKS_EXCLUDED(mutex_);
  // How long the oldest work that runs has been running; zero if none runs.
  absl::Duration LongestRunning() ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  using Clock = std::chrono::steady_clock;
  using Queue = std::deque<std::function<void()>>;

  void Run(bool first_only) ABSL_LOCKS_EXCLUDED(mutex_);
  bool HasFirst() const ABSL_SHARED_LOCKS_REQUIRED(mutex_) {
    return stopping_ || !first_.empty();
  }
  bool HasNews() const ABSL_SHARED_LOCKS_REQUIRED(mutex_) {
    return HasFirst() || !queue_.empty();
  }
  bool IsIdle() const ABSL_SHARED_LOCKS_REQUIRED(mutex_) {
    return began_.empty() && first_.empty() && queue_.empty();
  }

  const size_t max_queued_;
  absl::Mutex mutex_;
  // When each work that runs began.
  std::multiset<Clock::time_point> began_ ABSL_GUARDED_BY(mutex_);
  Queue first_ ABSL_GUARDED_BY(mutex_);
  Queue queue_ ABSL_GUARDED_BY(mutex_);
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::vector<std::thread> threads_;
};

}  // namespace clusterd

#endif  // DAEMON_PROCESS_WORKER_POOL_H_
