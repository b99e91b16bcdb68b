// Runs the controller's tasks on this host. Every task has a deadline and ends
// in exactly one result, even if its work never returns; an unknown task is
// answered `unsupported`. Concurrency is bounded here, for any controller.
//
// Equal observations run one after the other: a caller that comes during one
// shares the next, and never gets facts from before its question. One without
// callers stops after its current command.
#ifndef DAEMON_AGENT_TASK_RUNNER_H_
#define DAEMON_AGENT_TASK_RUNNER_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "config/audit/audit_chain.h"
#include "daemon/audit/audit_log.h"
#include "daemon/host/command/clock.h"
#include "daemon/host/command/command_runner.h"
#include "daemon/host/hccn/hccn_tool.h"
#include "daemon/host/host_observer.h"
#include "daemon/process/scheduler.h"
#include "daemon/process/worker_pool.h"
#include "proto/agent_hub.pb.h"
#include "proto/audit.pb.h"
#include "proto/facts.pb.h"
#include "proto/host_recording.pb.h"
#include "proto/logs.pb.h"

namespace clusterd {

// Running work, including that of tasks already answered.
inline constexpr int kMaxRunningTasks = 16;
// Tasks that are not answered yet; a controller sends no more to one host.
inline constexpr size_t kMaxOpenTasks = 64;

// The request to run within `deadline`, which bounds all its other deadlines;
// absent ones are 10 s a command, 30 s a host. InvalidArgument if a port range
// is malformed or there are over 64, or if the request is longer than 1 MiB.
absl::StatusOr<ObserveRequest> NormalizeObserveRequest(
    const ObserveRequest& request, absl::Duration deadline);

// Tasks other than observing, run on a thread of the pool; an unset one is
// unsupported. The deadline is the task's. Errors are the task's answer.
struct OtherTasks {
  std::function<absl::StatusOr<HostLogs>(const LogsTask&, absl::Duration)>
      read_logs = nullptr;
  std::function<absl::StatusOr<HostRecording>(const RecordTask&,
                                              absl::Duration)>
      record = nullptr;
  // Gets a line for each task that is unknown or refused at once; null: there
  // is no audit file. Must outlive all work.
  AuditLog* audit = nullptr;
};

// Held by a shared_ptr, which work in the pool shares: it may end after its
// caller. Safe for concurrent use.
class TaskRunner : public std::enable_shared_from_this<TaskRunner> {
 public:
  // Called once, from any thread, possibly before Run returns.
  using Done = std::function<void(TaskResult)>;

  // All pointers must outlive this object and all work in `pool`.
  TaskRunner(std::string host, HostObserver* observer, WorkerPool* pool,
             Scheduler* scheduler, OtherTasks others = {})
      : host_(std::move(host)),
        observer_(observer),
        pool_(pool),
        scheduler_(scheduler),
        others_(std::move(others)) {}

  // Errors are results too: ResourceExhausted if too much already runs,
  // AlreadyExists for a repeated id, InvalidArgument, DeadlineExceeded.
  void Run(const Task& task, const Done& done) ABSL_LOCKS_EXCLUDED(mutex_);
  // No call of the task's `done` begins after it.
  void Cancel(uint64_t task_id) { Take(task_id); }
  void CancelAll() ABSL_LOCKS_EXCLUDED(mutex_);
  // True if no task waits for its answer.
  bool IsIdle() ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    return tasks_.empty();
  }

 private:
  // Runs a task and fills in the outcome. Observing stops soon after `unwanted`
  // is set, and its time is reduced by `waited`.
  using Work = std::function<void(
      absl::Duration waited, const std::atomic<bool>& unwanted, TaskResult*)>;
  // One piece of work, for all tasks that share it.
  struct Job {
    Work work;
    std::string key;         // Equal for equal observations; others: empty.
    std::set<uint64_t> ids;  // Not yet answered.
    absl::Time began = absl::InfiniteFuture();
    std::atomic<bool> unwanted{false};
  };
  using JobPtr = std::shared_ptr<Job>;
  struct Open {
    Done done;
    Scheduler::TimerId timer = 0;
    absl::Time came;
    JobPtr job;
  };
  // Equal observations. New callers join `next`.
  struct Equal {
    JobPtr begun;
    JobPtr next;
    bool next_is_queued = false;  // In the pool, not after `begun`.
  };

  // Returns null work if the task is unknown.
  absl::StatusOr<JobPtr> JobOf(const Task& task, absl::Duration deadline);
  absl::Status Start(uint64_t id, JobPtr job, absl::Duration deadline,
                     const Done& done) ABSL_LOCKS_EXCLUDED(mutex_);
  // Queues the job, or returns an equal one to join.
  absl::StatusOr<JobPtr> PlaceLocked(const JobPtr& job)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool QueueLocked(const JobPtr& job) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return pool_->TryRun(
        [runner = shared_from_this(), job] { runner->RunJobs(job); });
  }
  // Runs the job, and then equal ones that arrived meanwhile.
  void RunJobs(JobPtr job) ABSL_LOCKS_EXCLUDED(mutex_);
  absl::Duration BeginLocked(const JobPtr& job)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  JobPtr EndLocked(const JobPtr& job) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Removes a task; empty if it was already answered or cancelled.
  Open Take(uint64_t id) ABSL_LOCKS_EXCLUDED(mutex_);
  void LeaveLocked(uint64_t id, const JobPtr& job)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Answer(TaskResult result);

  // Also writes to the audit file.
  void AuditRefusal(const Task& task, const absl::Status& why) const;

  const std::string host_;
  HostObserver* const observer_;
  WorkerPool* const pool_;
  Scheduler* const scheduler_;
  const OtherTasks others_;
  absl::Mutex mutex_;
  // Tasks that are not answered yet.
  std::map<uint64_t, Open> tasks_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, Equal> equal_ ABSL_GUARDED_BY(mutex_);  // By key.
  int busy_ ABSL_GUARDED_BY(mutex_) = 0;
};

// The audit entry of a controller's task: the user and address that the
// controller reports, and the newest line of its own audit file.
template <typename Task>
AuditEntry AuditedTask(absl::string_view what, const Task& task) {
  // Older controllers, and automatic tasks, name no address.
  AuditEntry entry = MakeAuditEntry(
      std::string(what), "", task.actor(),
      task.actor_peer().empty() ? kControllerFile : task.actor_peer());
  entry.set_certificate(task.actor_certificate());
  if (task.has_controller_audit()) {
    *entry.add_heads() = task.controller_audit();
    entry.mutable_heads(0)->set_of(kControllerFile);
  }
  return entry;
}

// One observation of the machine below `root` with every run of hccn_tool.
// Waits for `locks` at each device; null: the devices have no other user.
HostRecording MakeRecording(const std::string& host, const std::string& root,
                            CommandRunner* runner, Clock* clock,
                            DeviceLocks* locks, const ObserveRequest& request);

// Shortens a recording until a controller accepts it. Keeps a file that a run
// did not change once, before the first run that saw it. Removes outputs from
// the first one that is too much, and then, of too many runs, the last ones.
// The recording is then not `complete`.
void BoundRecording(size_t max_bytes, HostRecording* recording);

// The controller's tasks that read data for a vendor's ticket: a job's logs,
// and one observation with every run of hccn_tool and npu-smi. Both need the
// word "logs" in this host's agent.yaml, since they reveal texts of its users.
// One at a time: each reads up to 64 MiB, and the controller is not trusted
// with this host's time. Safe for concurrent use.
class TicketTasks {
 public:
  struct Parts {
    std::string root;
    CommandRunner* runner = nullptr;
    Clock* clock = nullptr;
    DeviceLocks* locks = nullptr;
    std::function<HostAllows()> allows;
    // Gets a line before and after a task; null: no audit file.
    AuditLog* audit = nullptr;
  };

  // The objects in `parts` must outlive it.
  explicit TicketTasks(Parts parts) : parts_(std::move(parts)) {}

  // Blocks for up to `deadline`. PermissionDenied, naming the word, if the host
  // does not allow it; for logs in HostLogs.missing. ResourceExhausted while
  // another one is read; AuditLog's errors if its file cannot be written.
  absl::StatusOr<HostLogs> ReadLogs(const LogsTask& task,
                                    absl::Duration deadline);
  absl::StatusOr<HostRecording> Record(const std::string& host,
                                       const RecordTask& task,
                                       absl::Duration deadline);

 private:
  absl::Status CheckAllowed(const AuditEntry& entry) const;
  // OK if this task may begin, with its line in the audit file.
  absl::Status Begin(const AuditEntry& entry);
  void End(const AuditEntry& entry, absl::string_view result) {
    reads_ = false;
    if (parts_.audit != nullptr) parts_.audit->End(entry, result);
  }

  const Parts parts_;
  std::atomic<bool> reads_{false};  // Set while reading.
};

}  // namespace clusterd

#endif  // DAEMON_AGENT_TASK_RUNNER_H_
