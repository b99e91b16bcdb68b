// How many of something may be under way at once.
#ifndef DAEMON_CONTROLLER_SLOTS_H_
#define DAEMON_CONTROLLER_SLOTS_H_

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"

namespace clusterd {

// Safe for concurrent use.
class Slots {
 public:
  explicit Slots(int count) : free_(count) {}

  // False if none is free.
  bool TryTake() ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    if (free_ == 0) return false;
    --free_;
    return true;
  }
  // REQUIRES: one was taken.
  void Give() ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    ++free_;
  }

 private:
  absl::Mutex mutex_;
  int free_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace clusterd

#endif  // DAEMON_CONTROLLER_SLOTS_H_
