// Bounds the bytes on their way to one user, and those queued for one stream.
// gRPC keeps a message until its client has taken it. Otherwise a client could
// open a thousand streams, read none, and keep a thousand reports.
#ifndef DAEMON_CONTROLLER_STREAM_SEND_BUDGET_H_
#define DAEMON_CONTROLLER_STREAM_SEND_BUDGET_H_

#include <cstddef>
#include <deque>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"

namespace clusterd {

// Safe for concurrent use; calls nothing under its lock.
class SendBudget {
 public:
  // Messages up to this size need no budget.
  static constexpr size_t kSmall = 64 << 10;

  // A message larger than `bytes_of_one` is sent alone.
  explicit SendBudget(size_t bytes_of_one) : bytes_of_one_(bytes_of_one) {}

  // True: the bytes are taken. False: `taken` is called, within a call of Give,
  // once they are taken, in the order of the calls; it must not block.
  bool Take(const std::string& who, size_t bytes, std::function<void()> taken)
      ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    User& user = users_[who];
    if (!user.waiting.empty() || !Fits(user, bytes)) {
      user.waiting.push_back({bytes, std::move(taken)});
      return false;
    }
    user.used += bytes;
    return true;
  }

  // REQUIRES: that user has taken this many bytes.
  void Give(const std::string& who, size_t bytes) ABSL_LOCKS_EXCLUDED(mutex_) {
    std::vector<std::function<void()>> next;
    {
      absl::MutexLock lock(&mutex_);
      const auto found = users_.find(who);
      User& user = found->second;
      user.used -= bytes;
      while (!user.waiting.empty() && Fits(user, user.waiting.front().bytes)) {
        user.used += user.waiting.front().bytes;
        next.push_back(std::move(user.waiting.front().taken));
        user.waiting.pop_front();
      }
      if (user.used == 0 && user.waiting.empty()) users_.erase(found);
    }
    for (const auto& taken : next) taken();
  }

 private:
  struct Waiting {
    size_t bytes;
    std::function<void()> taken;
  };
  struct User {
    size_t used = 0;
    std::deque<Waiting> waiting;
  };

  bool Fits(const User& user, size_t bytes) const {
    return user.used == 0 || user.used + bytes <= bytes_of_one_;
  }

  const size_t bytes_of_one_;
  absl::Mutex mutex_;
  std::map<std::string, User> users_ ABSL_GUARDED_BY(mutex_);
};

// The callbacks and bounds of an EventStream.
struct EventStreamOptions {
  // The client has left before the end; called at most once.
  std::function<void()> on_leave = [] {};
  // The client has taken an event. Must not block.
  std::function<void()> on_written = [] {};
  // The call is over; nothing is called after it.
  std::function<void()> on_end = [] {};
  // How many single events may wait; further ones are dropped.
  size_t max_queued = 1024;
  size_t max_queued_bytes = 32 << 20;
  // A large last event waits for bytes of this user; null: it does not wait.
  SendBudget* budget = nullptr;
  std::string who = {};
};

}  // namespace clusterd

#endif  // DAEMON_CONTROLLER_STREAM_SEND_BUDGET_H_
