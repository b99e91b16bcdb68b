#include "daemon/agent/task_runner.h"

#include <algorithm>
#include <map>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace clusterd {
namespace {

constexpr int kMaxPortRanges = 64;
constexpr absl::Duration kDefaultCommand = absl::Seconds(10);
constexpr absl::Duration kDefaultHost = absl::Seconds(30);

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

struct TaskRunner::Running {
  Done done;
  Scheduler::TimerId timer = 0;
};

// What the runner, the timers and the work in the pool share.
struct TaskRunner::Shared {
  explicit Shared(Scheduler* scheduler) : scheduler(scheduler) {}

  // Takes a task off. Empty if it was answered or cancelled before.
  Done Take(uint64_t id) ABSL_LOCKS_EXCLUDED(mutex) {
    Running taken;
    {
      absl::MutexLock lock(&mutex);
      const auto found = tasks.find(id);
      if (found == tasks.end()) return nullptr;
      taken = std::move(found->second);
      tasks.erase(found);
    }
    scheduler->Cancel(taken.timer);
    return std::move(taken.done);
  }

  void Finish(TaskResult result) {
    if (const Done done = Take(result.task_id())) done(std::move(result));
  }

  void WorkEnded() ABSL_LOCKS_EXCLUDED(mutex) {
    absl::MutexLock lock(&mutex);
    --busy;
  }

  Scheduler* const scheduler;
  absl::Mutex mutex;
  // Not yet answered.
  std::map<uint64_t, Running> tasks ABSL_GUARDED_BY(mutex);
  int busy ABSL_GUARDED_BY(mutex) = 0;
};

TaskRunner::TaskRunner(std::string host, HostObserver* observer,
                       WorkerPool* pool, Scheduler* scheduler,
                       TaskLimits limits)
    : host_(std::move(host)),
      observer_(observer),
      pool_(pool),
      limits_(limits),
      shared_(std::make_shared<Shared>(scheduler)) {}

TaskRunner::~TaskRunner() { CancelAll(); }

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
      std::min(absl::Milliseconds(task.deadline_ms()), limits_.max_deadline);
  const absl::StatusOr<ObserveRequest> request =
      deadline > absl::ZeroDuration()
          ? NormalizeObserveRequest(task.observe(), deadline)
          : absl::InvalidArgumentError("task: no deadline");
  absl::Status refused = request.status();
  if (refused.ok()) refused = Admit(id, deadline, done);
  if (!refused.ok()) {
    done(ErrorResult(id, refused));
    return;
  }
  Observe(id, *request);
}

absl::Status TaskRunner::Admit(uint64_t id, absl::Duration deadline,
                               Done done) {
  absl::MutexLock lock(&shared_->mutex);
  if (shared_->busy >= limits_.max_running) {
    return absl::ResourceExhaustedError(
        absl::StrCat(shared_->busy, " tasks run already on this host"));
  }
  if (shared_->tasks.count(id) > 0) {
    return absl::AlreadyExistsError("task: its id is in use");
  }
  ++shared_->busy;
  const Scheduler::TimerId timer =
      shared_->scheduler->RunAfter(deadline, [shared = shared_, id, deadline] {
        shared->Finish(ErrorResult(id, absl::DeadlineExceededError(absl::StrCat(
                                           "the observation did not end in ",
                                           absl::FormatDuration(deadline)))));
      });
  shared_->tasks.emplace(id, Running{std::move(done), timer});
  return absl::OkStatus();
}

void TaskRunner::Observe(uint64_t id, const ObserveRequest& request) {
  const bool queued = pool_->TryRun(
      [shared = shared_, id, request, observer = observer_, host = host_] {
        TaskResult result;
        result.set_task_id(id);
        *result.mutable_facts() = observer->Observe(host, request);
        shared->WorkEnded();
        shared->Finish(std::move(result));
      });
  if (queued) return;
  shared_->WorkEnded();
  shared_->Finish(ErrorResult(
      id, absl::ResourceExhaustedError("too many tasks wait on this host")));
}

void TaskRunner::Cancel(uint64_t task_id) { shared_->Take(task_id); }

void TaskRunner::CancelAll() {
  std::map<uint64_t, Running> dropped;
  {
    absl::MutexLock lock(&shared_->mutex);
    dropped.swap(shared_->tasks);
  }
  for (const auto& [id, running] : dropped) {
    shared_->scheduler->Cancel(running.timer);
  }
}

}  // namespace clusterd
