#include "daemon/process/scheduler.h"

#include <algorithm>

#include "absl/time/clock.h"

namespace clusterd {

void RunEvery(Scheduler* scheduler, absl::Duration interval,
              const std::function<void()>& run) {
  run();
  scheduler->RunAfter(interval, [scheduler, interval, run] {
    RunEvery(scheduler, interval, run);
  });
}

ThreadScheduler::ThreadScheduler() : thread_([this] { Run(); }) {}

ThreadScheduler::~ThreadScheduler() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_one();
  thread_.join();
}

absl::Time ThreadScheduler::Now() { return absl::Now(); }

Scheduler::TimerId ThreadScheduler::RunAfter(absl::Duration delay,
                                             std::function<void()> run) {
  // Longer delays would overflow the clock's type, and are never intended.
  const absl::Duration bounded =
      std::min(std::max(delay, absl::ZeroDuration()), absl::Hours(24 * 365));
  const Due due =
      std::chrono::steady_clock::now() + absl::ToChronoNanoseconds(bounded);
  TimerId id;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    id = ++last_id_;
    pending_.emplace(Key(due, id), std::move(run));
    due_.emplace(id, due);
  }
  changed_.notify_one();
  return id;
}

void ThreadScheduler::Cancel(TimerId timer) {
  std::function<void()> dropped;  // Destroyed outside the lock.
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto found = due_.find(timer);
  if (found == due_.end()) return;
  const auto entry = pending_.find(Key(found->second, timer));
  dropped = std::move(entry->second);
  pending_.erase(entry);
  due_.erase(found);
}

void ThreadScheduler::Run() {
  std::unique_lock<std::mutex> lock(mutex_);
  while (!stopping_) {
    if (pending_.empty()) {
      changed_.wait(lock);
      continue;
    }
    const auto first = pending_.begin();
    const Due due = first->first.first;
    if (std::chrono::steady_clock::now() < due) {
      changed_.wait_until(lock, due);
      continue;
    }
    std::function<void()> run = std::move(first->second);
    due_.erase(first->first.second);
    pending_.erase(first);
    lock.unlock();
    run();
    run = nullptr;
    lock.lock();
  }
}

}  // namespace clusterd
