#include "tests/support/process/manual_scheduler.h"

#include "tests/support/wait/patience.h"

namespace clusterd {

absl::Time ManualScheduler::Now() {
  absl::MutexLock lock(&mutex_);
  return now_;
}

Scheduler::TimerId ManualScheduler::RunAfter(absl::Duration delay,
                                             std::function<void()> run) {
  absl::MutexLock lock(&mutex_);
  const TimerId id = ++last_id_;
  pending_.emplace(std::make_pair(now_ + delay, id), std::move(run));
  return id;
}

void ManualScheduler::Cancel(TimerId timer) {
  absl::MutexLock lock(&mutex_);
  for (auto it = pending_.begin(); it != pending_.end(); ++it) {
    if (it->first.second == timer) {
      pending_.erase(it);
      return;
    }
  }
}

void ManualScheduler::Advance(absl::Duration by) {
  {
    absl::MutexLock lock(&mutex_);
    now_ += by;
  }
  while (const std::function<void()> run = TakeDue()) run();
}

std::function<void()> ManualScheduler::TakeDue() {
  absl::MutexLock lock(&mutex_);
  if (pending_.empty() || pending_.begin()->first.first > now_) return nullptr;
  std::function<void()> run = std::move(pending_.begin()->second);
  pending_.erase(pending_.begin());
  return run;
}

int ManualScheduler::pending() {
  absl::MutexLock lock(&mutex_);
  return static_cast<int>(pending_.size());
}

absl::Duration ManualScheduler::UntilNext() {
  absl::MutexLock lock(&mutex_);
  if (pending_.empty()) return absl::InfiniteDuration();
  return pending_.begin()->first.first - now_;
}

bool ManualScheduler::WaitForPending(int count) {
  absl::MutexLock lock(&mutex_);
  const auto reached = [this, count]() ABSL_SHARED_LOCKS_REQUIRED(mutex_) {
    return pending_.size() == static_cast<size_t>(count);
  };
  return mutex_.AwaitWithTimeout(absl::Condition(&reached), kPatience);
}

}  // namespace clusterd
