#include "daemon/agent/task_runner.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

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

TaskResult ErrorResult(uint64_t task_id, const absl::Status& status) {
  TaskResult result;
  result.set_task_id(task_id);
  result.mutable_error()->set_code(status.raw_code());
  result.mutable_error()->set_message(std::string(status.message()));
  return result;
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
  if (task.kind_case() != Task::kObserve) {
    TaskResult result;
    result.set_task_id(id);
    result.set_unsupported(
        "this clusterd knows no such task, only those that its hello names");
    done(std::move(result));
    return;
  }
  const absl::Duration deadline =
      std::min(absl::Milliseconds(task.deadline_ms()), kMaxDeadline);
  const absl::StatusOr<ObserveRequest> request =
      deadline > absl::ZeroDuration()
          ? NormalizeObserveRequest(task.observe(), deadline)
          : absl::InvalidArgumentError("task: no deadline");
  absl::Status started = request.status();
  if (started.ok()) started = Start(id, *request, deadline, done);
  if (!started.ok()) done(ErrorResult(id, started));
}

absl::Status TaskRunner::Start(uint64_t id, const ObserveRequest& request,
                               absl::Duration deadline, const Done& done) {
  absl::MutexLock lock(&mutex_);
  if (busy_ >= kMaxRunningTasks) {
    return absl::ResourceExhaustedError(
        absl::StrCat(busy_, " tasks run already on this host"));
  }
  if (tasks_.count(id) > 0) {
    return absl::AlreadyExistsError("task: its id is in use");
  }
  const bool queued = pool_->TryRun([runner = shared_from_this(), id, request] {
    TaskResult result;
    result.set_task_id(id);
    *result.mutable_facts() =
        runner->observer_->Observe(runner->host_, request);
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
                                           "the observation did not end in ",
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
