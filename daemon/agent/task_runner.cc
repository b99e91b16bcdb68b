#include "daemon/agent/task_runner.h"

#include <algorithm>
#include <optional>

#include "config/values/change_kind.h"
#include "config/values/status_macros.h"
#include "config/words/fact_text.h"
#include "config/words/message.h"
#include "config/words/number_text.h"
#include "config/words/quoted_text.h"
#include "daemon/host/command/program_path.h"
#include "daemon/host/files/file_reader.h"
#include "daemon/host/hccn/hccn_tool_recorder.h"
#include "daemon/host/identity_observer.h"
#include "daemon/host/logs/read_logs.h"
#include "daemon/host/machine_observer.h"
#include "daemon/host/npu_smi/device_ids.h"

namespace clusterd {
namespace {

constexpr int kMaxPortRanges = 64;
// Enough for 2,048 servers with names and addresses.
constexpr size_t kMaxRequestBytes = 1 << 20;
constexpr absl::Duration kDefaultCommand = absl::Seconds(10);
constexpr absl::Duration kDefaultHost = absl::Seconds(30);
constexpr absl::Duration kMaxDeadline = absl::Minutes(10);

uint32_t BoundMs(uint32_t asked_ms, absl::Duration fallback,
                 absl::Duration deadline) {
  const absl::Duration wanted =
      asked_ms == 0 ? fallback : absl::Milliseconds(asked_ms);
  return ToMs(std::min(wanted, deadline));
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
  return MakeAuditEntry(task.has_observe() ? "observe" : "unknown task", "", "",
                        kControllerFile);
}

// Sets the value, or the error, as the result's outcome.
template <typename Value>
void SetOutcome(absl::StatusOr<Value> value, Value* (TaskResult::*outcome)(),
                TaskResult* result) {
  if (!value.ok()) return SetError(value.status(), result);
  *(result->*outcome)() = *std::move(value);
}

// A controller rejects messages over 1 MiB.
constexpr size_t kMaxRecordingBytes = 960 << 10;
// Limit of one run of `find` or `tail`, in case a file server is dead.
constexpr absl::Duration kLogCommand = absl::Seconds(10);

// Share of the caller's wait; what is read in this time is sent.
constexpr double kShare = 0.8;
// Limit of a run beyond the observation.
constexpr absl::Duration kTicketCommand = absl::Seconds(5);
constexpr size_t kMaxKernelBytes = 128 << 10;

// Adds data that a vendor also asks for. It does not run msnpureport, but notes
// if it exists: that tool exports more than a message holds, into its working
// folder, and must run alone (CANN 8.0.RC2, log reference, logreference_0016).
void AddForTicket(const HostAccess& host, HostRecording* recording) {
  absl::StatusOr<std::string> log = ReadKernelLog(host, /*errors_only=*/false);
  if (log.ok()) {
    const size_t cut = log->size() - std::min(log->size(), kMaxKernelBytes);
    recording->set_kernel_log(log->substr(cut));
  } else {
    recording->add_gaps(absl::StrCat("kernel log: ", log.status().message()));
  }
  const auto prefix = ReadInstallPath(host.files());
  if (!prefix.ok()) return;
  const std::string tool = absl::StrCat(*prefix, "/driver/tools/msnpureport");
  if (FindProgram(host.paths.root, {tool}).ok()) {
    recording->set_msnpureport(tool);
  }
}

}  // namespace

absl::StatusOr<ObserveRequest> NormalizeObserveRequest(
    const ObserveRequest& request, absl::Duration deadline) {
  if (request.socket_ports_size() > kMaxPortRanges) {
    return InvalidArgument("observe: ", request.socket_ports_size(),
                           " port ranges, expected at most ", kMaxPortRanges);
  }
  for (const ObserveRequest::PortRange& range : request.socket_ports()) {
    if (range.first() > range.last() || range.last() > 65535) {
      return InvalidArgument("observe: port range ", range.first(), "-",
                             range.last(), ", expected first <= last <= 65535");
    }
  }
  if (request.ByteSizeLong() > kMaxRequestBytes) {
    return InvalidArgument("observe: a question of ", request.ByteSizeLong(),
                           " bytes, expected at most ", kMaxRequestBytes);
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
    const absl::Status unknown = UnimplementedWords("agent-task-unknown");
    result.set_unsupported(std::string(unknown.message()));
    AuditRefusal(task, unknown);
    return done(std::move(result));
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
    return ExhaustedWords("agent-tasks-wait", tasks_.size());
  }
  if (tasks_.count(id) > 0) {
    return absl::AlreadyExistsError("task: its id is in use");
  }
  ASSIGN_OR_RETURN(job, PlaceLocked(job));
  job->ids.insert(id);
  job->unwanted = false;
  const Scheduler::TimerId timer = scheduler_->RunAfter(
      deadline, [runner = shared_from_this(), id, deadline] {
        runner->Answer(ErrorResult(
            id,
            DeadlineWords("agent-task-late", absl::FormatDuration(deadline))));
      });
  tasks_.emplace(id, Open{done, timer, scheduler_->Now(), job});
  return absl::OkStatus();
}

absl::StatusOr<TaskRunner::JobPtr> TaskRunner::PlaceLocked(const JobPtr& job) {
  const auto found = equal_.find(job->key);
  const bool has_equal = !job->key.empty() && found != equal_.end();
  if (has_equal && found->second.next != nullptr) return found->second.next;
  if (busy_ >= kMaxRunningTasks) {
    return ExhaustedWords("agent-tasks-run", busy_);
  }
  // An observation that all callers have left may hang: do not wait for it.
  const bool follows = has_equal && !found->second.begun->ids.empty();
  if (!follows && !QueueLocked(job)) {
    return ExhaustedWords("agent-queue-full");
  }
  ++busy_;
  if (job->key.empty()) return job;
  Equal& equal = equal_[job->key];
  equal.next = job;
  equal.next_is_queued = !follows;
  return job;
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

// Returns how long the last task to join has waited.
absl::Duration TaskRunner::BeginLocked(const JobPtr& job) {
  job->began = scheduler_->Now();
  if (!job->key.empty()) {
    Equal& equal = equal_[job->key];
    equal.begun = job;
    equal.next = nullptr;
  }
  absl::Duration waited = absl::ZeroDuration();
  if (!job->ids.empty()) waited = job->began - tasks_[*job->ids.rbegin()].came;
  return std::max(waited, absl::ZeroDuration());
}

// Returns the job that follows.
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
  // The next job does not wait for a job that may hang.
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
    result.set_waited_ms(ToMs<uint64_t>(waited));
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

HostRecording MakeRecording(const std::string& host, const std::string& root,
                            CommandRunner* runner, Clock* clock,
                            DeviceLocks* locks, const ObserveRequest& request) {
  const FileReader files(root);
  HccnToolRecorder recorder(runner, [&files]() -> std::optional<std::string> {
    absl::StatusOr<FileText> conf = files.Read("/etc/hccn.conf");
    if (!conf.ok()) return std::nullopt;
    return std::move(conf->text);
  });
  // Every ticket needs it, even if the observation does not.
  const auto npu_smi = LocateNpuSmi({root});
  const TimeBudget budget(clock, kTicketCommand, kTicketCommand);
  if (npu_smi.ok()) {
    // The recorder keeps the run with its errors.
    RunNpuSmi({*npu_smi, "info"}, {{root}, &recorder, &budget})
        .status()
        .IgnoreError();
  }
  MachineObserver observer({root}, &recorder, clock, locks);
  HostRecording recording;
  *recording.mutable_facts() = observer.Observe(host, request);
  for (HostRecording::Run& run : recorder.runs()) {
    *recording.add_runs() = std::move(run);
  }
  recording.set_complete(true);
  return recording;
}

void BoundRecording(size_t max_bytes, HostRecording* recording) {
  std::optional<std::string> conf;
  size_t used =
      recording->facts().ByteSizeLong() + recording->kernel_log().size();
  for (HostRecording::Run& run : *recording->mutable_runs()) {
    if (run.has_hccn_conf_after() &&
        run.hccn_conf_after() == run.hccn_conf_before()) {
      run.clear_hccn_conf_after();
    }
    if (run.has_hccn_conf_before() && conf == run.hccn_conf_before()) {
      run.clear_hccn_conf_before();
    } else if (run.has_hccn_conf_before()) {
      conf = run.hccn_conf_before();
    }
    if (run.has_hccn_conf_after()) conf = run.hccn_conf_after();
    used += run.ByteSizeLong() + 8;
    if (used <= max_bytes) continue;
    used -= run.standard_output().size() + run.standard_error().size();
    run.clear_standard_output();
    run.clear_standard_error();
    run.set_output_cut(true);
    recording->set_complete(false);
  }
  // Then drops the runs whose outputs have been removed.
  while (recording->ByteSizeLong() > max_bytes && recording->runs_size() > 0) {
    recording->mutable_runs()->RemoveLast();
    recording->set_complete(false);
  }
}

absl::Status TicketTasks::CheckAllowed(const AuditEntry& entry) const {
  const HostAllows allows = parts_.allows();
  std::set<ChangeKind> kinds = AllowedKinds(allows);
  if (!kinds.insert(CHANGE_LOGS).second) return absl::OkStatus();
  const absl::Status refused =
      DeniedWords("agent-not-allowed", ChangeKindName(CHANGE_LOGS),
                  WhatIsAllowed(allows), HowToAllow(allows, kinds));
  if (parts_.audit != nullptr) parts_.audit->Refuse(entry, refused);
  return refused;
}

absl::Status TicketTasks::Begin(const AuditEntry& entry) {
  if (reads_.exchange(true)) {
    const absl::Status refused = ExhaustedWords("agent-logs-read");
    if (parts_.audit != nullptr) parts_.audit->Refuse(entry, refused);
    return refused;
  }
  const absl::Status written =
      parts_.audit == nullptr ? absl::OkStatus() : parts_.audit->Begin(entry);
  if (!written.ok()) reads_ = false;
  return written;
}

absl::StatusOr<HostLogs> TicketTasks::ReadLogs(const LogsTask& task,
                                               absl::Duration deadline) {
  AuditEntry entry = AuditedTask(kAuditReadLogs, task);
  entry.set_subject(absl::StrCat("of user ", QuotedText(task.query().user()),
                                 ", job ", QuotedText(task.query().job_id())));
  const absl::Status allowed = CheckAllowed(entry);
  if (!allowed.ok()) {
    HostLogs none;
    *none.mutable_missing() = MissingFor(allowed);
    return none;
  }
  RETURN_IF_ERROR(Begin(entry));
  const TimeBudget budget(parts_.clock, kLogCommand, deadline * kShare);
  HostLogs logs =
      ReadHostLogs({{parts_.root}, parts_.runner, &budget}, task.query());
  End(entry, logs.has_missing()
                 ? absl::StrCat("none: ", logs.missing().detail())
                 : absl::StrCat("read: ", logs.ByteSizeLong(), " bytes"));
  return logs;
}

absl::StatusOr<HostRecording> TicketTasks::Record(const std::string& host,
                                                  const RecordTask& task,
                                                  absl::Duration deadline) {
  const AuditEntry entry = AuditedTask(kAuditRecord, task);
  RETURN_IF_ERROR(CheckAllowed(entry));
  RETURN_IF_ERROR(Begin(entry));
  ObserveRequest request;
  request.set_host_ms(ToMs(deadline * kShare));
  HostRecording recording = MakeRecording(host, parts_.root, parts_.runner,
                                          parts_.clock, parts_.locks, request);
  const TimeBudget budget(parts_.clock, kTicketCommand, 2 * kTicketCommand);
  AddForTicket({{parts_.root}, parts_.runner, &budget}, &recording);
  BoundRecording(kMaxRecordingBytes, &recording);
  End(entry, absl::StrCat("read: ", recording.runs_size(), " runs"));
  return recording;
}

}  // namespace clusterd
