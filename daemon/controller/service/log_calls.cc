#include "daemon/controller/service/log_calls.h"

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "config/values/status_macros.h"
#include "config/words/message.h"
#include "config/words/quoted_text.h"
#include "daemon/audit/audit_log.h"
#include "daemon/controller/hosts/attached_hosts.h"
#include "daemon/controller/hosts/fact_limits.h"
#include "daemon/controller/hosts/fact_run.h"
#include "daemon/controller/hosts/spec_holder.h"

namespace clusterd {
namespace {

constexpr size_t kLogsAtOnce = 8;
// Reading 64 MiB from a slow file server takes longer than an observation.
constexpr absl::Duration kLeastLogsDeadline = absl::Minutes(1);

using LogsStream = EventStream<LogsEvent>;

struct LogsOrder {
  std::vector<std::string> hosts;  // From SelectHosts.
  LogsQuery query;
  bool record = false;
  absl::Duration host_deadline;  // For each task.
  // For the audit files: the caller, and our own file's newest line.
  AuditEntry caller;
  AuditHead audit_head;
};

// Reads the logs of hosts for one client. Safe for concurrent use.
class LogsRun : public std::enable_shared_from_this<LogsRun> {
 public:
  // `hosts` must outlive it; gRPC holds `stream`.
  LogsRun(LogsOrder order, AttachedHosts* hosts,
          const std::shared_ptr<LogsStream>& stream)
      : order_(std::move(order)), hosts_(hosts), stream_(stream) {}

  // Asks as many hosts as fit, and ends the stream after the last one. The
  // owner calls it again whenever the client has taken an event.
  void Advance() ABSL_LOCKS_EXCLUDED(mutex_) {
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
    const auto stream = is_over ? stream_.lock() : nullptr;
    if (stream == nullptr) return;
    LogsEvent last;
    *last.mutable_progress() = progress();
    stream->End(std::move(last));
  }

  // The client has left: cancels the hosts' tasks.
  void Cancel() ABSL_LOCKS_EXCLUDED(mutex_) {
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

  CheckProgress progress() const ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    return ProgressOf(order_.hosts, order_.hosts.size() - next_ + asked_.size(),
                      failed_, asked_);
  }

 private:
  struct Asked {
    LogsOfHost answer;  // The parts received.
    AttachedHosts::TaskId task = 0;
    uint64_t tasks = 0;  // Tasks that were sent to it.
  };

  // The next host to ask; false: none can be asked now.
  bool TakeNext(size_t* index, bool* is_over) ABSL_LOCKS_EXCLUDED(mutex_) {
    const std::shared_ptr<LogsStream> stream = stream_.lock();
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

  void Ask(size_t index, const Task& task) ABSL_LOCKS_EXCLUDED(mutex_) {
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

  // A host answers twice: with its logs, and then with its recording.
  void OnAnswer(size_t index, absl::StatusOr<TaskResult> result)
      ABSL_LOCKS_EXCLUDED(mutex_) {
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

  void Deliver(size_t index) ABSL_LOCKS_EXCLUDED(mutex_) {
    LogsEvent event;
    {
      absl::MutexLock lock(&mutex_);
      const auto found = asked_.find(index);
      if (found == asked_.end()) return;
      *event.mutable_host() = std::move(found->second.answer);
    }
    const bool failed =
        event.host().has_error_words() || event.host().logs().has_missing();
    const auto stream = stream_.lock();
    if (stream != nullptr) stream->Add(std::move(event));
    {
      // Only now: without a host that is asked, Advance ends the stream.
      absl::MutexLock lock(&mutex_);
      asked_.erase(index);
      failed_ += failed ? 1 : 0;
    }
    if (stream != nullptr) stream->NoteProgress();
    Advance();
  }

  const LogsOrder order_;
  AttachedHosts* const hosts_;
  const std::weak_ptr<LogsStream> stream_;

  mutable absl::Mutex mutex_;
  // Hosts without an answer so far, by index.
  std::map<size_t, Asked> asked_ ABSL_GUARDED_BY(mutex_);
  size_t next_ ABSL_GUARDED_BY(mutex_) = 0;
  uint32_t failed_ ABSL_GUARDED_BY(mutex_) = 0;
  // Set while a thread is in Advance, which must not nest: a detached host
  // answers at once, and ten thousand of them would overflow the stack.
  bool advancing_ ABSL_GUARDED_BY(mutex_) = false;
  bool again_ ABSL_GUARDED_BY(mutex_) = false;
  bool over_ ABSL_GUARDED_BY(mutex_) = false;
};

absl::StatusOr<LogsOrder> PrepareLogs(const ControllerParts& parts,
                                      const CallContext& context,
                                      const SpiffeId& user,
                                      const LogsRequest& request) {
  const std::shared_ptr<const ClusterSpec> spec = parts.spec->spec();
  LogsOrder order;
  ASSIGN_OR_RETURN(order.hosts, SelectHosts(*spec, request.hosts()));
  order.query = request.query();
  order.record = request.record();
  order.host_deadline = std::max(
      kLeastLogsDeadline, absl::Milliseconds(spec->deadlines().host_ms()));
  const std::string what = absl::StrCat(
      NamesText(order.hosts), ", of user ", QuotedText(order.query.user()),
      ", job ", QuotedText(order.query.job_id()));
  order.caller =
      AuditCaller(context, "ReadLogs",
                  absl::StrCat(what, order.record ? ", with a recording" : ""));
  parts.log->Info(user.name, " reads logs on ", what);
  return order;
}

}  // namespace

StreamCall<LogsEvent>* LogCalls::ReadLogs(CallContext* context,
                                          const LogsRequest* request) {
  const UserCall call = {context, "ReadLogs", *request, CallClass::kLogs};
  return calls_.Stream<LogsEvent>(call, [&](const auto& stream,
                                            const SpiffeId& user) {
    absl::StatusOr<LogsOrder> order =
        PrepareLogs(parts_, *context, user, *request);
    if (!order.ok()) return calls_.Refused(call, order.status());
    RETURN_IF_ERROR(calls_.TakeSlot(call, user));
    const absl::Status begun = parts_.audit->Begin(order->caller);
    if (!begun.ok()) {
      calls_.slots()->Give(CallClass::kLogs, user.name);
      return calls_.Refused(call, begun);
    }
    order->audit_head = parts_.audit->head_to_tell();
    const AuditEntry caller = order->caller;
    const auto run =
        std::make_shared<LogsRun>(*std::move(order), parts_.hosts, stream);
    EventStreamOptions options;
    options.on_leave = [run] { run->Cancel(); };
    options.on_written = [run] { run->Advance(); };
    options.on_end = [this, run, caller, who = user.name] {
      run->Cancel();
      const CheckProgress progress = run->progress();
      parts_.audit->End(
          caller, absl::StrCat("ended: ", progress.answered(), " answered, ",
                               progress.failed(), " without, ",
                               progress.pending(), " not read"));
      calls_.slots()->Give(CallClass::kLogs, who);
    };
    stream->Begin(std::move(options));
    stream->Show([run](LogsEvent* event) {
      *event->mutable_progress() = run->progress();
    });
    stream->NoteProgress();
    run->Advance();
    return absl::OkStatus();
  });
}

}  // namespace clusterd
