// What this host asks its controller over the stream, and waits for: each
// question has an id of its stream and ends in exactly one answer, at the
// latest when its time is over or the stream ends.
#ifndef DAEMON_AGENT_HUB_QUESTIONS_H_
#define DAEMON_AGENT_HUB_QUESTIONS_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "daemon/process/scheduler.h"
#include "proto/agent_hub.pb.h"

namespace clusterd {

// At once; a host has no more hooks under way.
inline constexpr size_t kMaxOpenQuestions = 512;

// Held by a shared_ptr. Safe for concurrent use.
class HubQuestions : public std::enable_shared_from_this<HubQuestions> {
 public:
  // Called once, from any thread.
  using Answered = std::function<void(absl::StatusOr<HubMessage>)>;

  // `scheduler` must outlive it.
  explicit HubQuestions(Scheduler* scheduler) : scheduler_(scheduler) {}

  // The id of a new question, to be sent then; 0, and `answered` has been
  // called with ResourceExhausted, if there are too many. DeadlineExceeded
  // after `wait`.
  uint64_t Open(absl::Duration wait, Answered answered)
      ABSL_LOCKS_EXCLUDED(mutex_);
  // An answer; one that nobody waits for is dropped.
  void Answer(uint64_t id, absl::StatusOr<HubMessage> answer)
      ABSL_LOCKS_EXCLUDED(mutex_);
  // No question waits for its answer.
  bool IsIdle() ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    return waiting_.empty();
  }
  // The stream has ended, or there is none.
  void EndAll(const absl::Status& why) ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  struct Waiting {
    Answered answered;
    Scheduler::TimerId timer = 0;
  };

  Scheduler* const scheduler_;
  absl::Mutex mutex_;
  uint64_t last_id_ ABSL_GUARDED_BY(mutex_) = 0;
  std::map<uint64_t, Waiting> waiting_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace clusterd

#endif  // DAEMON_AGENT_HUB_QUESTIONS_H_
