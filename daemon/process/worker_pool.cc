#include "daemon/process/worker_pool.h"

#include <utility>

namespace clusterd {

WorkerPool::WorkerPool(int threads, size_t max_queued)
    : max_queued_(max_queued) {
  threads_.reserve(static_cast<size_t>(threads));
  for (int i = 0; i < threads; ++i) threads_.emplace_back([this] { Run(); });
}

WorkerPool::~WorkerPool() {
  {
    absl::MutexLock lock(&mutex_);
    stopping_ = true;
  }
  for (std::thread& thread : threads_) thread.join();
}

bool WorkerPool::TryRun(std::function<void()> work) {
  absl::MutexLock lock(&mutex_);
  if (stopping_ || queue_.size() >= max_queued_) return false;
  queue_.push_back(std::move(work));
  return true;
}

void WorkerPool::Drain() {
  absl::MutexLock lock(&mutex_);
  mutex_.Await(absl::Condition(this, &WorkerPool::IsIdle));
}

void WorkerPool::Run() {
  for (;;) {
    std::function<void()> work;
    {
      absl::MutexLock lock(&mutex_);
      mutex_.Await(absl::Condition(this, &WorkerPool::HasNews));
      if (stopping_) return;
      work = std::move(queue_.front());
      queue_.pop_front();
      ++running_;
    }
    work();
    // What it holds goes before it counts as done.
    work = nullptr;
    absl::MutexLock lock(&mutex_);
    --running_;
  }
}

}  // namespace clusterd
