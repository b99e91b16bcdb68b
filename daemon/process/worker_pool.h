// A fixed number of threads for work that blocks or takes long, with a bounded
// queue. Urgent work has a queue that all threads prefer, and its own threads.
#ifndef DAEMON_PROCESS_WORKER_POOL_H_
#define DAEMON_PROCESS_WORKER_POOL_H_

#include <chrono>
#include <cstddef>
#include <deque>
#include <functional>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"

namespace clusterd {

// Safe for concurrent use.
class WorkerPool {
 public:
  enum class Place { kInTurn, kFirst };

  // `first_threads` run only kFirst work. REQUIRES: threads >= 1.
  WorkerPool(int threads, size_t max_queued, int first_threads = 0)
      : max_queued_(max_queued) {
    threads_.reserve(static_cast<size_t>(threads + first_threads));
    for (int i = 0; i < threads + first_threads; ++i) {
      threads_.emplace_back([this, i, threads] { Run(i >= threads); });
    }
  }
  // Waits for running work; queued work never runs.
  ~WorkerPool() {
    {
      absl::MutexLock lock(&mutex_);
      stopping_ = true;
    }
    for (std::thread& thread : threads_) thread.join();
  }

  // Returns false without running `work` if that queue has max_queued items.
  bool TryRun(std::function<void()> work, Place place = Place::kInTurn)
      ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    Queue& queue = place == Place::kFirst ? first_ : queue_;
    if (stopping_ || queue.size() >= max_queued_) return false;
    queue.push_back(std::move(work));
    return true;
  }
  // Blocks until all work is done. Must not be called from the pool itself.
  void Drain() ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    mutex_.Await(absl::Condition(this, &WorkerPool::IsIdle));
  }
  // Returns how long the oldest running work has run; zero if none runs.
  absl::Duration LongestRunning() ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    if (began_.empty()) return absl::ZeroDuration();
    return absl::FromChrono(Clock::now() - *began_.begin());
  }

 private:
  using Clock = std::chrono::steady_clock;
  using Queue = std::deque<std::function<void()>>;

  void Run(bool first_only) ABSL_LOCKS_EXCLUDED(mutex_) {
    const auto has_work =
        first_only ? &WorkerPool::HasFirst : &WorkerPool::HasNews;
    for (;;) {
      std::function<void()> work;
      std::multiset<Clock::time_point>::iterator began;
      {
        absl::MutexLock lock(&mutex_);
        mutex_.Await(absl::Condition(this, has_work));
        if (stopping_) return;
        Queue& queue = first_.empty() ? queue_ : first_;
        work = std::move(queue.front());
        queue.pop_front();
        began = began_.insert(Clock::now());
      }
      work();
      // Destroys what `work` holds before it counts as done.
      work = nullptr;
      absl::MutexLock lock(&mutex_);
      began_.erase(began);
    }
  }
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
  // Start times of the running work.
  std::multiset<Clock::time_point> began_ ABSL_GUARDED_BY(mutex_);
  Queue first_ ABSL_GUARDED_BY(mutex_);
  Queue queue_ ABSL_GUARDED_BY(mutex_);
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::vector<std::thread> threads_;
};

}  // namespace clusterd

#endif  // DAEMON_PROCESS_WORKER_POOL_H_
