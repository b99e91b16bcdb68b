#include "daemon/agent/hub_questions.h"

#include "absl/strings/str_cat.h"

namespace clusterd {

uint64_t HubQuestions::Open(absl::Duration wait, Answered answered) {
  {
    absl::MutexLock lock(&mutex_);
    if (waiting_.size() < kMaxOpenQuestions) {
      const uint64_t id = ++last_id_;
      const Scheduler::TimerId timer =
          scheduler_->RunAfter(wait, [weak = weak_from_this(), id, wait] {
            const auto self = weak.lock();
            if (self == nullptr) return;
            self->Answer(id, absl::DeadlineExceededError(absl::StrCat(
                                 "the controller did not answer in ",
                                 absl::FormatDuration(wait))));
          });
      waiting_.emplace(id, Waiting{std::move(answered), timer});
      return id;
    }
  }
  answered(absl::ResourceExhaustedError(absl::StrCat(
      kMaxOpenQuestions, " questions wait for the controller already")));
  return 0;
}

void HubQuestions::Answer(uint64_t id, absl::StatusOr<HubMessage> answer) {
  Waiting taken;
  {
    absl::MutexLock lock(&mutex_);
    const auto found = waiting_.find(id);
    if (found == waiting_.end()) return;
    taken = std::move(found->second);
    waiting_.erase(found);
  }
  scheduler_->Cancel(taken.timer);
  taken.answered(std::move(answer));
}

void HubQuestions::EndAll(const absl::Status& why) {
  std::map<uint64_t, Waiting> ended;
  {
    absl::MutexLock lock(&mutex_);
    ended.swap(waiting_);
  }
  for (const auto& [id, waiting] : ended) {
    scheduler_->Cancel(waiting.timer);
    waiting.answered(why);
  }
}

}  // namespace clusterd
