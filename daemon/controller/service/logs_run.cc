#include "daemon/controller/service/logs_run.h"

#include "config/words/message.h"
#include "daemon/controller/calls/controller_parts.h"
#include "daemon/controller/hosts/fact_limits.h"

namespace clusterd {

bool LogsRun::TakeNext(size_t* index, bool* is_over) {
  const std::shared_ptr<Stream> stream = stream_.lock();
  absl::MutexLock lock(&mutex_);
  const bool may_ask = stream != nullptr && !over_ &&
                       asked_.size() + stream->queued() < kLogsAtOnce;
  if (may_ask && next_ < order_.hosts.size()) {
    *index = next_++;
    asked_[*index].answer.set_host(order_.hosts[*index]);
    return true;
  }
  if (again_) {
    // Search again: there may be room by now.
    again_ = false;
    *index = order_.hosts.size();
    return true;
  }
  advancing_ = false;
  *is_over = !over_ && next_ == order_.hosts.size() && asked_.empty();
  over_ |= *is_over;
  return false;
}

void LogsRun::Advance() {
  {
    absl::MutexLock lock(&mutex_);
    if (advancing_) {
      again_ = true;
      return;
    }
    advancing_ = true;
  }
  size_t index = 0;
  bool is_over = false;
  while (TakeNext(&index, &is_over)) {
    if (index == order_.hosts.size()) continue;
    Task task;
    *task.mutable_logs()->mutable_query() = order_.query;
    FillInAsker(order_.caller, order_.audit_head, task.mutable_logs());
    Ask(index, task);
  }
  if (!is_over) return;
  const std::shared_ptr<Stream> stream = stream_.lock();
  if (stream == nullptr) return;
  LogsEvent last;
  *last.mutable_progress() = progress();
  stream->End(std::move(last));
}

void LogsRun::Ask(size_t index, const Task& task) {
  uint64_t number;
  {
    absl::MutexLock lock(&mutex_);
    const auto found = asked_.find(index);
    if (found == asked_.end()) return;
    number = ++found->second.tasks;
  }
  HostTask asked;
  asked.host = order_.hosts[index];
  asked.task = task;
  asked.deadline = order_.host_deadline;
  const AttachedHosts::TaskId id = hosts_->RunTask(
      std::move(asked),
      [self = shared_from_this(), index](absl::StatusOr<TaskResult> result) {
        self->OnAnswer(index, std::move(result));
      });
  bool unwanted;
  {
    absl::MutexLock lock(&mutex_);
    const auto found = asked_.find(index);
    // The host may have answered already and have its next task.
    if (found != asked_.end() && found->second.tasks == number) {
      found->second.task = id;
    }
    unwanted = over_;
  }
  if (unwanted) hosts_->Cancel(id);
}

void LogsRun::OnAnswer(size_t index, absl::StatusOr<TaskResult> result) {
  bool is_whole;
  {
    absl::MutexLock lock(&mutex_);
    const auto found = asked_.find(index);
    if (found == asked_.end()) return;
    LogsOfHost& answer = found->second.answer;
    const bool is_logs = found->second.tasks == 1;
    is_whole = !is_logs || !order_.record;
    if (is_logs && result.ok() && result->has_logs()) {
      *answer.mutable_logs() = std::move(*result->mutable_logs());
    } else if (!is_logs && result.ok() && result->has_recording()) {
      *answer.mutable_recording() = std::move(*result->mutable_recording());
    } else {
      const FindingValue why = Worded(
          "about", is_logs ? "logs" : "recording",
          !result.ok() ? MessageWords(result.status())
          : result->has_error()
              ? Worded("hub-clusterd-answered", MessageWords(result->error()))
              : Worded("hub-clusterd-other-question"));
      *answer.mutable_error_words() =
          answer.has_error_words()
              ? Worded("hub-and", answer.error_words(), why)
              : why;
    }
  }
  if (is_whole) return Deliver(index);
  Task task;
  FillInAsker(order_.caller, order_.audit_head, task.mutable_record());
  Ask(index, task);
}

void LogsRun::Deliver(size_t index) {
  LogsEvent event;
  {
    absl::MutexLock lock(&mutex_);
    const auto found = asked_.find(index);
    if (found == asked_.end()) return;
    *event.mutable_host() = std::move(found->second.answer);
    const bool failed =
        event.host().has_error_words() || event.host().logs().has_missing();
    failed_ += failed ? 1 : 0;
    asked_.erase(found);
  }
  if (const auto stream = stream_.lock()) {
    stream->Add(std::move(event));
    stream->NoteProgress();
  }
  Advance();
}

void LogsRun::Cancel() {
  std::map<size_t, Asked> dropped;
  {
    absl::MutexLock lock(&mutex_);
    over_ = true;
    dropped.swap(asked_);
  }
  for (const auto& [index, asked] : dropped) {
    if (asked.task != 0) hosts_->Cancel(asked.task);
  }
}

CheckProgress LogsRun::progress() const {
  constexpr int kMaxAwaited = 8;
  CheckProgress progress;
  absl::MutexLock lock(&mutex_);
  const size_t pending = order_.hosts.size() - next_ + asked_.size();
  progress.set_pending(static_cast<uint32_t>(pending));
  progress.set_failed(failed_);
  progress.set_answered(static_cast<uint32_t>(order_.hosts.size() - pending) -
                        failed_);
  for (const auto& [index, asked] : asked_) {
    if (progress.awaited_size() == kMaxAwaited) break;
    progress.add_awaited(order_.hosts[index]);
  }
  return progress;
}

}  // namespace clusterd
