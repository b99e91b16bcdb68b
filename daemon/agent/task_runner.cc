#include "daemon/agent/task_runner.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "config/values/status_macros.h"

namespace clusterd {
namespace {

constexpr int kMaxPortRanges = 64;
constexpr absl::Duration kDefaultCommand = absl::Seconds(10);
constexpr absl::Duration kDefaultHost = absl::Seconds(30);
constexpr absl::Duration kMaxDeadline = absl::Minutes(10);

uint32_t BoundMs(uint32_t asked_ms, absl::Duration fallback,
                 absl::Duration deadline) {
  const absl::Duration wanted =
      asked_ms == 0 ? fallback : absl::Milliseconds(asked_ms);
  return static_cast<uint32_t>(
      absl::ToInt64Milliseconds(std::min(wanted, deadline)));
}

void SetError(const absl::Status& status, TaskResult* result) {
  result->mutable_error()->set_code(status.raw_code());
  result->mutable_error()->set_message(std::string(status.message()));
}

TaskResult ErrorResult(uint64_t task_id, const absl::Status& status) {
  TaskResult result;
  result.set_task_id(task_id);
  SetError(status, &result);
  return result;
}

// The value, or the error, as the result's outcome.
template <typename Value>
void SetOutcome(absl::StatusOr<Value> value, Value* (TaskResult::*outcome)(),
                TaskResult* result) {
  if (!value.ok()) return SetError(value.status(), result);
  *(result->*outcome)() = *std::move(value);
}

}  // namespace

absl::StatusOr<ObserveRequest> NormalizeObserveRequest(
    const ObserveRequest& request, absl::Duration deadline) {
  if (request.socket_ports_size() > kMaxPortRanges) {
    return absl::InvalidArgumentError(
        absl::StrCat("observe: ", request.socket_ports_size(),
                     " port ranges, expected at most ", kMaxPortRanges));
  }
  for (const ObserveRequest::PortRange& range : request.socket_ports()) {
    if (range.first() > range.last() || range.last() > 65535) {
      return absl::InvalidArgumentError(
          absl::StrCat("observe: port range ", range.first(), "-", range.last(),
                       ", expected first <= last <= 65535"));
    }
  }
  ObserveRequest normal = request;
  normal.set_command_ms(
      BoundMs(request.command_ms(), kDefaultCommand, deadline));
  normal.set_host_ms(BoundMs(request.host_ms(), kDefaultHost, deadline));
  return normal;
}

void TaskRunner::Run(const Task& task, const Done& done) {
  const uint64_t id = task.task_id();
  const absl::Duration deadline =
      std::min(absl::Milliseconds(task.deadline_ms()), kMaxDeadline);
  absl::StatusOr<Work> work = WorkOf(task, deadline);
  if (work.ok() && *work == nullptr) {
    TaskResult result;
    result.set_task_id(id);
    result.set_unsupported(
        "this clusterd knows no such task, only those that its hello names");
    done(std::move(result));
    return;
  }
  if (work.ok() && deadline <= absl::ZeroDuration()) {
    work = absl::InvalidArgumentError("task: no deadline");
  }
  absl::Status started = work.status();
  if (started.ok()) started = Start(id, *std::move(work), deadline, done);
  if (!started.ok()) done(ErrorResult(id, started));
}

absl::StatusOr<TaskRunner::Work> TaskRunner::WorkOf(const Task& task,
                                                    absl::Duration deadline) {
  if (task.has_observe()) {
    ASSIGN_OR_RETURN(const ObserveRequest request,
                     NormalizeObserveRequest(task.observe(), deadline));
    return Work([this, request](TaskResult* result) {
      *result->mutable_facts() = observer_->Observe(host_, request);
    });
  }
  if (task.has_logs() && others_.read_logs) {
    return Work(
        [this, query = task.logs().query(), deadline](TaskResult* result) {
          SetOutcome(others_.read_logs(query, deadline),
                     &TaskResult::mutable_logs, result);
        });
  }
  if (task.has_record() && others_.record) {
    return Work([this, deadline](TaskResult* result) {
      SetOutcome(others_.record(deadline), &TaskResult::mutable_recording,
                 result);
    });
  }
  return Work(nullptr);
}

absl::Status TaskRunner::Start(uint64_t id, Work work, absl::Duration deadline,
                               const Done& done) {
  absl::MutexLock lock(&mutex_);
  if (busy_ >= kMaxRunningTasks) {
    return absl::ResourceExhaustedError(
        absl::StrCat(busy_, " tasks run already on this host"));
  }
  if (tasks_.count(id) > 0) {
    return absl::AlreadyExistsError("task: its id is in use");
  }
  const bool queued =
      pool_->TryRun([runner = shared_from_this(), id, work = std::move(work)] {
        TaskResult result;
        result.set_task_id(id);
        work(&result);
        runner->WorkEnded();
        runner->Finish(std::move(result));
      });
  if (!queued) {
    return absl::ResourceExhaustedError("too many tasks wait on this host");
  }
  ++busy_;
  const Scheduler::TimerId timer = scheduler_->RunAfter(
      deadline, [runner = shared_from_this(), id, deadline] {
        runner->Finish(ErrorResult(id, absl::DeadlineExceededError(absl::StrCat(
                                           "the task did not end in ",
                                           absl::FormatDuration(deadline)))));
      });
  tasks_.emplace(id, Running{done, timer});
  return absl::OkStatus();
}

TaskRunner::Done TaskRunner::Take(uint64_t id) {
  Running taken;
  {
    absl::MutexLock lock(&mutex_);
    const auto found = tasks_.find(id);
    if (found == tasks_.end()) return nullptr;
    taken = std::move(found->second);
    tasks_.erase(found);
  }
  scheduler_->Cancel(taken.timer);
  return std::move(taken.done);
}

void TaskRunner::Finish(TaskResult result) {
  if (const Done done = Take(result.task_id())) done(std::move(result));
}

void TaskRunner::WorkEnded() {
  absl::MutexLock lock(&mutex_);
  --busy_;
}

void TaskRunner::CancelAll() {
  std::map<uint64_t, Running> dropped;
  {
    absl::MutexLock lock(&mutex_);
    dropped.swap(tasks_);
  }
  for (const auto& [id, running] : dropped) scheduler_->Cancel(running.timer);
}

}  // namespace clusterd
