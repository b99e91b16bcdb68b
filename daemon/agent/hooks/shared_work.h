// Equal questions that come at once are worked on once: the first does the
// work, those that come before it has ended wait for what it finds.
#ifndef DAEMON_AGENT_HOOKS_SHARED_WORK_H_
#define DAEMON_AGENT_HOOKS_SHARED_WORK_H_

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "daemon/process/monotonic_notification.h"

namespace clusterd {

// Safe for concurrent use.
template <typename Found>
class SharedWork {
 public:
  // What `work` finds, in this thread or in another's that began it under the
  // same key; nullopt if another's takes longer than `wait`.
  template <typename Work>
  std::optional<Found> Do(const std::string& key, absl::Duration wait,
                          const Work& work) ABSL_LOCKS_EXCLUDED(mutex_) {
    std::shared_ptr<UnderWay> mine;
    std::shared_ptr<UnderWay> others;
    {
      absl::MutexLock lock(&mutex_);
      std::shared_ptr<UnderWay>& entry = under_way_[key];
      others = entry;
      if (others == nullptr) mine = entry = std::make_shared<UnderWay>();
    }
    if (others != nullptr) {
      if (!others->done.WaitFor(wait)) {
        return std::nullopt;
      }
      return others->found;
    }
    mine->found.emplace(work());
    bool is_alone;
    {
      absl::MutexLock lock(&mutex_);
      under_way_.erase(key);
      is_alone = mine.use_count() == 1;  // Nobody can join any more.
    }
    if (is_alone) return std::move(mine->found);
    mine->done.Notify();
    return mine->found;
  }

 private:
  struct UnderWay {
    std::optional<Found> found;  // Set before `done`, never after.
    MonotonicNotification done;
  };

  absl::Mutex mutex_;
  std::map<std::string, std::shared_ptr<UnderWay>> under_way_
      ABSL_GUARDED_BY(mutex_);
};

}  // namespace clusterd

#endif  // DAEMON_AGENT_HOOKS_SHARED_WORK_H_
