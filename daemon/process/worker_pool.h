// A fixed number of threads for work that blocks or takes long, and a bounded
// queue in front of them.
#ifndef DAEMON_PROCESS_WORKER_POOL_H_
#define DAEMON_PROCESS_WORKER_POOL_H_

#include <cstddef>
#include <deque>
#include <functional>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"

namespace clusterd {

// Safe for concurrent use.
class WorkerPool {
 public:
  // REQUIRES: threads >= 1.
  WorkerPool(int threads, size_t max_queued);
  // Waits for what is running; what is still queued never runs.
  ~WorkerPool();

  // False, and `work` will not run, if max_queued items wait already.
  bool TryRun(std::function<void()> work) ABSL_LOCKS_EXCLUDED(mutex_);
  // Blocks until nothing runs and nothing is queued. Not from the pool itself.
  void Drain() ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  void Run() ABSL_LOCKS_EXCLUDED(mutex_);
  bool HasNews() const ABSL_SHARED_LOCKS_REQUIRED(mutex_) {
    return stopping_ || !queue_.empty();
  }
  bool IsIdle() const ABSL_SHARED_LOCKS_REQUIRED(mutex_) {
    return running_ == 0 && queue_.empty();
  }

  const size_t max_queued_;
  absl::Mutex mutex_;
  std::deque<std::function<void()>> queue_ ABSL_GUARDED_BY(mutex_);
  int running_ ABSL_GUARDED_BY(mutex_) = 0;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::vector<std::thread> threads_;
};

}  // namespace clusterd

#endif  // DAEMON_PROCESS_WORKER_POOL_H_
