// Does what the controller asks of this host. Every task has a deadline and
// ends in exactly one result, also when the work behind it never returns; what
// this daemon does not know is answered `unsupported`. The controller is not
// trusted with this host's memory or threads: how much runs at once is bounded
// here.
#ifndef DAEMON_AGENT_TASK_RUNNER_H_
#define DAEMON_AGENT_TASK_RUNNER_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "daemon/host/host_observer.h"
#include "daemon/process/scheduler.h"
#include "daemon/process/worker_pool.h"
#include "proto/agent_hub.pb.h"

namespace clusterd {

// Tasks whose work has not returned, also those already answered.
inline constexpr int kMaxRunningTasks = 16;

// The request as it will be carried out within `deadline`: absent deadlines
// take their defaults (10 s a command, 30 s a host), none exceeds `deadline`.
// InvalidArgument if a port range is malformed or there are over 64.
absl::StatusOr<ObserveRequest> NormalizeObserveRequest(
    const ObserveRequest& request, absl::Duration deadline);

// What else than observing is done, on a thread of the pool; what is unset is
// unsupported. The deadline is the task's. Errors are the task's answer.
struct OtherTasks {
  std::function<absl::StatusOr<HostLogs>(const LogsQuery&, absl::Duration)>
      read_logs = nullptr;
  std::function<absl::StatusOr<HostRecording>(absl::Duration)> record = nullptr;
};

// Held by a shared_ptr, which work in the pool shares: it may end later than
// whoever asked for it. Safe for concurrent use.
class TaskRunner : public std::enable_shared_from_this<TaskRunner> {
 public:
  // Called once, from any thread, possibly before Run returns.
  using Done = std::function<void(TaskResult)>;

  // All pointers must outlive this object and whatever runs in `pool`.
  TaskRunner(std::string host, HostObserver* observer, WorkerPool* pool,
             Scheduler* scheduler, OtherTasks others = {})
      : host_(std::move(host)),
        observer_(observer),
        pool_(pool),
        scheduler_(scheduler),
        others_(std::move(others)) {}

  // Errors are results too: ResourceExhausted when too much runs already,
  // AlreadyExists for a repeated id, InvalidArgument, DeadlineExceeded.
  void Run(const Task& task, const Done& done) ABSL_LOCKS_EXCLUDED(mutex_);
  // No call of the task's `done` begins any more. Its work ends when it ends.
  void Cancel(uint64_t task_id) { Take(task_id); }
  void CancelAll() ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  struct Running {
    Done done;
    Scheduler::TimerId timer = 0;
  };

  // Fills in the outcome of a task.
  using Work = std::function<void(TaskResult* result)>;

  // Null: this daemon does not know the task.
  absl::StatusOr<Work> WorkOf(const Task& task, absl::Duration deadline);
  absl::Status Start(uint64_t id, Work work, absl::Duration deadline,
                     const Done& done) ABSL_LOCKS_EXCLUDED(mutex_);
  // Takes a task off. Empty if it was answered or cancelled before.
  Done Take(uint64_t id) ABSL_LOCKS_EXCLUDED(mutex_);
  void Finish(TaskResult result);
  void WorkEnded() ABSL_LOCKS_EXCLUDED(mutex_);

  const std::string host_;
  HostObserver* const observer_;
  WorkerPool* const pool_;
  Scheduler* const scheduler_;
  const OtherTasks others_;
  absl::Mutex mutex_;
  // Not yet answered.
  std::map<uint64_t, Running> tasks_ ABSL_GUARDED_BY(mutex_);
  int busy_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace clusterd

#endif  // DAEMON_AGENT_TASK_RUNNER_H_
