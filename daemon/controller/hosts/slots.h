// How many of something may be under way at once: of all users together, and of
// one, so that nobody holds all of them.
#ifndef DAEMON_CONTROLLER_HOSTS_SLOTS_H_
#define DAEMON_CONTROLLER_HOSTS_SLOTS_H_

#include <map>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"

namespace clusterd {

// Safe for concurrent use.
class Slots {
 public:
  // `what`: as in "4 calls read logs already".
  Slots(std::string what, int of_all, int of_one)
      : what_(std::move(what)), of_all_(of_all), of_one_(of_one) {}

  // ResourceExhausted if none is free for that user.
  absl::Status Take(const std::string& who) ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    const auto own = taken_.find(who);
    const bool too_many = own != taken_.end() && own->second >= of_one_;
    if (too_many || all_taken_ >= of_all_) {
      return absl::ResourceExhaustedError(absl::StrCat(
          too_many ? of_one_ : of_all_, " ", what_, " already",
          too_many ? absl::StrCat(" for ", who) : "", ", try again later"));
    }
    ++all_taken_;
    ++taken_[who];
    return absl::OkStatus();
  }
  // REQUIRES: one was taken for that user.
  void Give(const std::string& who) ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    --all_taken_;
    const auto own = taken_.find(who);
    if (--own->second == 0) taken_.erase(own);
  }

 private:
  const std::string what_;
  const int of_all_;
  const int of_one_;
  absl::Mutex mutex_;
  int all_taken_ ABSL_GUARDED_BY(mutex_) = 0;
  std::map<std::string, int> taken_ ABSL_GUARDED_BY(mutex_);  // None is 0.
};

}  // namespace clusterd

#endif  // DAEMON_CONTROLLER_HOSTS_SLOTS_H_
