#include "daemon/process/worker_pool.h"

#include <utility>

namespace clusterd {

WorkerPool::~WorkerPool() {
  {
    absl::MutexLock lock(&mutex_);
    stopping_ = true;
  }
  for (std::thread& thread : threads_) thread.join();
}

bool WorkerPool::TryRun(std::function<void()> work, Place place) {
  absl::MutexLock lock(&mutex_);
  Queue& queue = place == Place::kFirst ? first_ : queue_;
  if (stopping_ || queue.size() >= max_queued_) return false;
  queue.push_back(std::move(work));
  return true;
}

void WorkerPool::Run(bool first_only) {
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

}  // namespace clusterd
