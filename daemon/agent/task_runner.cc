#include "daemon/agent/task_runner.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "config/values/status_macros.h"
#include "daemon/agent/audited_task.h"

namespace clusterd {
namespace {

constexpr int kMaxPortRanges = 64;
// 2,048 servers with names and addresses.
constexpr size_t kMaxRequestBytes = 1 << 20;
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

AuditEntry EntryOf(const Task& task) {
  if (task.has_logs()) return AuditedTask("read-logs", task.logs());
  if (task.has_record()) return AuditedTask("record", task.record());
  if (task.has_apply()) return AuditedTask("apply", task.apply());
  if (task.has_rollback()) return AuditedTask("rollback", task.rollback());
  if (task.has_confirm()) return AuditedTask("confirm", task.confirm());
  AuditEntry entry;
  entry.set_what(task.has_observe() ? "observe" : "unknown task");
  entry.set_peer(kControllerFile);
  return entry;
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
  if (request.ByteSizeLong() > kMaxRequestBytes) {
    return absl::InvalidArgumentError(
        absl::StrCat("observe: a question of ", request.ByteSizeLong(),
                     " bytes, expected at most ", kMaxRequestBytes));
  }
  ObserveRequest normal = request;
  normal.set_command_ms(
      BoundMs(request.command_ms(), kDefaultCommand, deadline));
  normal.set_host_ms(BoundMs(request.host_ms(), kDefaultHost, deadline));
  return normal;
}

void TaskRunner::Run(const Task& task, const Done& done) {
  const uint64_t id = task.task_id();
  if (task.has_ping()) {
    TaskResult pong;
    pong.set_task_id(id);
    pong.set_pong(true);
    return done(std::move(pong));
  }
  const absl::Duration deadline =
      std::min(absl::Milliseconds(task.deadline_ms()), kMaxDeadline);
  absl::StatusOr<JobPtr> job = JobOf(task, deadline);
  if (job.ok() && (*job)->work == nullptr) {
    TaskResult result;
    result.set_task_id(id);
    result.set_unsupported(
        "this clusterd knows no such task, only those that its hello names");
    AuditRefusal(task, absl::UnimplementedError(result.unsupported()));
    done(std::move(result));
    return;
  }
  if (job.ok() && deadline <= absl::ZeroDuration()) {
    job = absl::InvalidArgumentError("task: no deadline");
  }
  absl::Status started = job.status();
  if (started.ok()) started = Start(id, *std::move(job), deadline, done);
  if (started.ok()) return;
  AuditRefusal(task, started);
  done(ErrorResult(id, started));
}

void TaskRunner::AuditRefusal(const Task& task, const absl::Status& why) const {
  if (others_.audit != nullptr) others_.audit->Refuse(EntryOf(task), why);
}

absl::StatusOr<TaskRunner::JobPtr> TaskRunner::JobOf(const Task& task,
                                                     absl::Duration deadline) {
  const auto job = std::make_shared<Job>();
  if (task.has_observe()) {
    ASSIGN_OR_RETURN(const ObserveRequest request,
                     NormalizeObserveRequest(task.observe(), deadline));
    job->key = request.SerializeAsString();
    job->work = [this, request](absl::Duration waited,
                                const std::atomic<bool>& unwanted,
                                TaskResult* result) {
      ObserveRequest rest = request;
      const auto host = absl::Milliseconds(request.host_ms()) - waited;
      rest.set_host_ms(static_cast<uint32_t>(
          std::max<int64_t>(1, absl::ToInt64Milliseconds(host))));
      *result->mutable_facts() =
          observer_->ObserveFor(host_, rest, {&unwanted});
    };
  } else if (task.has_logs() && others_.read_logs) {
    job->work = [this, logs = task.logs(), deadline](
                    absl::Duration, const auto&, TaskResult* result) {
      SetOutcome(others_.read_logs(logs, deadline), &TaskResult::mutable_logs,
                 result);
    };
  } else if (task.has_record() && others_.record) {
    job->work = [this, record = task.record(), deadline](
                    absl::Duration, const auto&, TaskResult* result) {
      SetOutcome(others_.record(record, deadline),
                 &TaskResult::mutable_recording, result);
    };
  }
  return job;
}

absl::Status TaskRunner::Start(uint64_t id, JobPtr job, absl::Duration deadline,
                               const Done& done) {
  absl::MutexLock lock(&mutex_);
  if (tasks_.size() >= kMaxOpenTasks) {
    return absl::ResourceExhaustedError(
        absl::StrCat(tasks_.size(), " tasks wait on this host already"));
  }
  if (tasks_.count(id) > 0) {
    return absl::AlreadyExistsError("task: its id is in use");
  }
  ASSIGN_OR_RETURN(job, PlaceLocked(job));
  job->ids.insert(id);
  job->unwanted = false;
  const Scheduler::TimerId timer = scheduler_->RunAfter(
      deadline, [runner = shared_from_this(), id, deadline] {
        runner->Answer(ErrorResult(id, absl::DeadlineExceededError(absl::StrCat(
                                           "the task did not end in ",
                                           absl::FormatDuration(deadline)))));
      });
  tasks_.emplace(id, Open{done, timer, scheduler_->Now(), job});
  return absl::OkStatus();
}

absl::StatusOr<TaskRunner::JobPtr> TaskRunner::PlaceLocked(const JobPtr& job) {
  const auto found = equal_.find(job->key);
  const bool has_equal = !job->key.empty() && found != equal_.end();
  if (has_equal && found->second.next != nullptr) return found->second.next;
  if (busy_ >= kMaxRunningTasks) {
    return absl::ResourceExhaustedError(
        absl::StrCat(busy_, " tasks run already on this host"));
  }
  // One that nobody waits for any more may hang: that must not be catching.
  const bool follows = has_equal && !found->second.begun->ids.empty();
  if (!follows && !QueueLocked(job)) {
    return absl::ResourceExhaustedError("too many tasks wait on this host");
  }
  ++busy_;
  if (job->key.empty()) return job;
  Equal& equal = equal_[job->key];
  equal.next = job;
  equal.next_is_queued = !follows;
  return job;
}

bool TaskRunner::QueueLocked(const JobPtr& job) {
  return pool_->TryRun(
      [runner = shared_from_this(), job] { runner->RunJobs(job); });
}

void TaskRunner::RunJobs(JobPtr job) {
  while (job != nullptr) {
    absl::Duration waited;
    bool wanted;
    {
      absl::MutexLock lock(&mutex_);
      waited = BeginLocked(job);
      wanted = !job->ids.empty();
    }
    TaskResult result;
    if (wanted) job->work(waited, job->unwanted, &result);
    std::set<uint64_t> ids;
    JobPtr next;
    {
      absl::MutexLock lock(&mutex_);
      ids = job->ids;
      next = EndLocked(job);
    }
    for (const uint64_t id : ids) {
      TaskResult own = result;
      own.set_task_id(id);
      Answer(std::move(own));
    }
    job = std::move(next);
  }
}

// How long the last that joined has waited.
absl::Duration TaskRunner::BeginLocked(const JobPtr& job) {
  job->began = scheduler_->Now();
  if (!job->key.empty()) {
    Equal& equal = equal_[job->key];
    equal.begun = job;
    equal.next = nullptr;
  }
  absl::Duration waited = absl::ZeroDuration();
  if (!job->ids.empty()) {
    waited = job->began - tasks_[*job->ids.rbegin()].came;
  }
  return std::max(waited, absl::ZeroDuration());
}

// What follows it.
TaskRunner::JobPtr TaskRunner::EndLocked(const JobPtr& job) {
  --busy_;
  const auto found = equal_.find(job->key);
  if (job->key.empty() || found == equal_.end() || found->second.begun != job) {
    return nullptr;
  }
  Equal& equal = found->second;
  equal.begun = nullptr;
  if (equal.next == nullptr) {
    equal_.erase(found);
    return nullptr;
  }
  return equal.next_is_queued ? nullptr : equal.next;
}

void TaskRunner::LeaveLocked(uint64_t id, const JobPtr& job) {
  job->ids.erase(id);
  if (!job->ids.empty()) return;
  job->unwanted = true;
  const auto found = equal_.find(job->key);
  if (job->key.empty() || found == equal_.end()) return;
  // What follows it does not wait for what may hang.
  Equal& equal = found->second;
  if (equal.begun != job || equal.next == nullptr || equal.next_is_queued) {
    return;
  }
  equal.next_is_queued = QueueLocked(equal.next);
}

TaskRunner::Open TaskRunner::Take(uint64_t id) {
  Open taken;
  {
    absl::MutexLock lock(&mutex_);
    const auto found = tasks_.find(id);
    if (found == tasks_.end()) return {};
    taken = std::move(found->second);
    tasks_.erase(found);
    LeaveLocked(id, taken.job);
  }
  scheduler_->Cancel(taken.timer);
  return taken;
}

void TaskRunner::Answer(TaskResult result) {
  const Open task = Take(result.task_id());
  if (task.done == nullptr) return;
  if (result.has_facts()) {
    const absl::Duration waited =
        std::max(task.job->began - task.came, absl::ZeroDuration());
    result.set_waited_ms(
        static_cast<uint64_t>(absl::ToInt64Milliseconds(waited)));
  }
  task.done(std::move(result));
}

void TaskRunner::CancelAll() {
  std::map<uint64_t, Open> dropped;
  {
    absl::MutexLock lock(&mutex_);
    dropped.swap(tasks_);
    for (const auto& [id, task] : dropped) LeaveLocked(id, task.job);
  }
  for (const auto& [id, task] : dropped) scheduler_->Cancel(task.timer);
}

}  // namespace clusterd
