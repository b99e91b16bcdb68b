#include "daemon/controller/change/apply_run.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "config/change/host_state.h"
#include "config/plan/settings.h"
#include "config/values/status_macros.h"
#include "config/words/message.h"
#include "config/words/subject_text.h"
#include "daemon/audit/audit_log.h"
#include "daemon/controller/history/history_entry.h"
#include "daemon/controller/hosts/fact_limits.h"
#include "daemon/controller/hosts/fact_run.h"

namespace clusterd {
namespace {

// Progress names at most this many hosts; people do not read more.
constexpr int kMaxAtWork = 8;
// How long the run waits for a host whose stream ended.
constexpr absl::Duration kReattachWait = absl::Seconds(30);

// The report of a run that begins: every host waits.
ApplyReport NewReport(ApplyReport report,
                      const std::vector<ApplyOrder::Host>& hosts,
                      absl::Time now) {
  report.set_schema_version(1);
  report.set_started_at_ms(absl::ToUnixMillis(now));
  report.set_outcome(ApplyReport::RUNNING);
  for (const ApplyOrder::Host& host : hosts) {
    ApplyResult* const result = report.add_hosts();
    result->set_apply_id(report.apply_id());
    result->set_host(host.name);
    result->set_outcome(ApplyResult::NOT_STARTED);
    result->set_state(HOST_WAITING);
    result->set_was_lost(host.was_lost);
  }
  return report;
}

ApplyResult LostResult(FindingValue why) {
  ApplyResult result;
  result.set_outcome(ApplyResult::LOST);
  *result.mutable_error_words() = std::move(why);
  return result;
}

// The fields that the answers to Cancel and Abort have in common.
template <typename Response>
Response ResponseOf(const ApplyReport& head) {
  Response response;
  response.set_schema_version(1);
  response.set_run_id(head.run_id());
  response.set_rollback(head.rollback());
  response.set_actor(head.actor());
  return response;
}

// Checks a host's answer. One about another apply, or one that does not fit the
// task, leaves the host's state unknown, which is LOST.
ApplyResult ResultOfAnswer(const ApplyReport& head,
                           absl::StatusOr<TaskResult> answer) {
  if (!answer.ok()) {
    const absl::Status& error = answer.status();
    ApplyResult result = LostResult(MessageWords(error));
    // With these two errors, nothing was sent to the host.
    if (absl::IsFailedPrecondition(error) || absl::IsResourceExhausted(error)) {
      result.set_outcome(ApplyResult::NOT_STARTED);
    } else if (absl::IsUnimplemented(error)) {
      result.set_outcome(ApplyResult::REFUSED);
    }
    return result;
  }
  if (answer->has_error()) {
    ApplyResult result = LostResult(MessageWords(answer->error()));
    result.set_outcome(ApplyResult::REFUSED);
    return result;
  }
  if (!answer->has_apply()) return LostResult(Worded("hub-other-question"));
  ApplyResult result = std::move(*answer->mutable_apply());
  if (result.apply_id() != head.apply_id()) {
    return LostResult(Worded("hub-other-apply", result.apply_id()));
  }
  result.set_of_rollback(head.rollback());
  if (EventOf(head.rollback(), result).has_value()) return result;
  return LostResult(
      Worded("hub-answer-not-expected", OutcomeWords(result.outcome())));
}

}  // namespace

ApplyRun::ApplyRun(ApplyOrder order, const ControllerParts& parts,
                   Callbacks callbacks)
    : head_(order.report),
      hosts_(std::move(order.hosts)),
      waves_(hosts_.size(), head_.canary(), head_.wave_size()),
      plan_(std::move(order.plan)),
      caller_(std::move(order.caller)),
      parts_(parts),
      callbacks_(std::move(callbacks)),
      started_at_(parts.scheduler->Now()),
      record_(NewReport(head_, hosts_, started_at_), plan_ != nullptr),
      asked_(hosts_.size()) {}

absl::Status ApplyRun::Start() {
  const CallbackGate::Pass pass(gate_);
  if (!pass) return UnavailableWords("msg-hub-stopping");
  {
    absl::MutexLock lock(&mutex_);
    TakeWaveLocked(0);
  }
  absl::Status begun = BeginWave();
  if (!begun.ok()) {
    absl::MutexLock lock(&mutex_);
    CloseLocked(ApplyReport::STOPPED);
  }
  return begun;
}

Task ApplyRun::MakeTask(size_t index) const {
  const auto fill_in = [this](auto* change) {
    FillInAsker(caller_, parts_.audit->head_to_tell(), change);
    change->set_apply_id(head_.apply_id());
    change->set_actor(head_.actor());
    change->set_force(head_.force());
  };
  Task task;
  if (head_.rollback()) {
    fill_in(task.mutable_rollback());
    return task;
  }
  ApplyTask* const apply = task.mutable_apply();
  fill_in(apply);
  *apply->mutable_plan() = *hosts_[index].plan;
  apply->set_plan_digest(plan_->digest());
  apply->set_confirm_within_ms(head_.confirmation().within_ms());
  return task;
}

absl::Duration ApplyRun::SilenceAfter(size_t index, size_t steps_seen) const {
  const ApplyOrder::Host& host = hosts_[index];
  // A rollback reports no steps before its end.
  if (head_.rollback() || host.plan == nullptr) return host.deadline;
  return std::min(host.deadline,
                  HostChangeDeadline(static_cast<int>(steps_seen) + 1,
                                     host.plan->command_ms()));
}

void ApplyRun::TakeWaveLocked(size_t wave) {
  wave_ = wave;
  for (size_t i = waves_.begin(wave); i < waves_.begin(wave + 1); ++i) {
    record_.Move(i, HostEvent::kAsked);
  }
}

std::vector<size_t> ApplyRun::AtWorkLocked() const {
  std::vector<size_t> at_work;
  for (size_t i = waves_.begin(wave_); i < waves_.begin(wave_ + 1); ++i) {
    if (record_.state(i) == HOST_RUNNING) at_work.push_back(i);
  }
  return at_work;
}

ApplyEvent ApplyRun::WaveEvent(size_t wave) const {
  ApplyEvent event;
  event.mutable_wave()->set_wave(static_cast<uint32_t>(wave + 1));
  event.mutable_wave()->set_waves(static_cast<uint32_t>(waves_.count()));
  for (size_t i = waves_.begin(wave); i < waves_.begin(wave + 1); ++i) {
    event.mutable_wave()->add_hosts(hosts_[i].name);
  }
  return event;
}

absl::Status ApplyRun::BeginWave() {
  size_t wave = 0;
  {
    absl::MutexLock lock(&mutex_);
    if (!record_.is_running()) return absl::OkStatus();
    wave = wave_;
  }
  // Save before asking the first host. If the controller dies in between, the
  // history names too many hosts, which is harmless, but never too few.
  RETURN_IF_ERROR(SaveRunning());
  callbacks_.watcher.on_progress(shared_from_this());
  callbacks_.watcher.on_event(WaveEvent(wave));
  for (size_t i = waves_.begin(wave); i < waves_.begin(wave + 1); ++i) {
    HostTask task;
    task.host = hosts_[i].name;
    task.task = MakeTask(i);
    task.deadline = SilenceAfter(i, 0);
    {
      absl::MutexLock lock(&mutex_);
      if (!record_.is_running()) break;
      asked_[i].at = parts_.scheduler->Now();
    }
    task.progress = [run = shared_from_this(), i](StepOutcome step) {
      run->OnStep(i, std::move(step));
    };
    const AttachedHosts::TaskId id = parts_.hosts->RunTask(
        std::move(task),
        [run = shared_from_this(), i](absl::StatusOr<TaskResult> answer) {
          run->OnTaskEnd(i, std::move(answer));
        });
    bool wanted;
    {
      absl::MutexLock lock(&mutex_);
      asked_[i].task = id;
      wanted = record_.state(i) == HOST_RUNNING;
    }
    // The run was aborted meanwhile and must not get later reports.
    if (!wanted) parts_.hosts->Cancel(id);
  }
  return absl::OkStatus();
}

void ApplyRun::OnStep(size_t index, StepOutcome step) {
  const HostPlan* const plan = hosts_[index].plan;
  // A step ends once, and may be undone once. A broken host may send more.
  const size_t most =
      plan == nullptr ? 1024 : 2 * static_cast<size_t>(plan->steps_size());
  AttachedHosts::TaskId task = 0;
  absl::Duration wait;
  {
    absl::MutexLock lock(&mutex_);
    Asked& asked = asked_[index];
    if (!record_.is_running() || ++asked.steps_seen > most) return;
    task = asked.task;
    wait =
        std::min(SilenceAfter(index, asked.steps_seen),
                 asked.at + hosts_[index].deadline - parts_.scheduler->Now());
  }
  if (wait > absl::ZeroDuration()) parts_.hosts->Extend(task, wait);
  ApplyEvent event;
  event.mutable_step()->set_host(hosts_[index].name);
  const PlanStep* const planned =
      plan == nullptr ? nullptr
                      : FirstWith(plan->steps(), &PlanStep::id, step.step());
  if (planned != nullptr) {
    event.mutable_step()->set_text(StepText(*planned));
    *event.mutable_step()->mutable_text_words() = StepWords(*planned);
  }
  *event.mutable_step()->mutable_outcome() = std::move(step);
  callbacks_.watcher.on_event(std::move(event));
}

void ApplyRun::OnTaskEnd(size_t index, absl::StatusOr<TaskResult> answer) {
  // Wait only after a broken stream: clusterd continues the task and reports
  // its end when it attaches again.
  if (!absl::IsUnavailable(answer.status())) {
    return Settle(index, ResultOfAnswer(head_, std::move(answer)));
  }
  {
    absl::MutexLock lock(&mutex_);
    asked_[index].lost_because = MessageWords(answer.status());
  }
  WaitForReattach(index, kReattachWait);
}

void ApplyRun::WaitForReattach(size_t index, absl::Duration wait) {
  absl::MutexLock lock(&mutex_);
  if (record_.state(index) != HOST_RUNNING) return;
  asked_[index].timer =
      parts_.scheduler->RunAfter(wait, [weak = weak_from_this(), index] {
        if (const auto run = weak.lock()) run->OnWaitOver(index);
      });
}

void ApplyRun::OnWaitOver(size_t index) {
  const CallbackGate::Pass pass(gate_);
  if (!pass) return;
  absl::Duration left;
  FindingValue why;
  {
    absl::MutexLock lock(&mutex_);
    left = asked_[index].at + hosts_[index].deadline - parts_.scheduler->Now();
    why = asked_[index].lost_because.value_or(FindingValue());
  }
  // An attached host may still be busy, but only until its deadline.
  const bool back = parts_.hosts->IsAttached(hosts_[index].name);
  if (back && left > absl::ZeroDuration()) return WaitForReattach(index, left);
  Settle(index,
         LostResult(Worded(
             back ? "hub-attached-silent" : "hub-not-attached-since", why)));
}

bool ApplyRun::TakePast(size_t index, const ApplyResult& result) {
  {
    absl::MutexLock lock(&mutex_);
    if (!record_.is_running()) return false;
    if (record_.state(index) != HOST_RUNNING) {
      // Corrects the report while the run lasts: the host was LOST, or it has
      // reverted before the run could be confirmed.
      if (!record_.Take(index, result)) return false;
      record_.NoteDeadline(index, asked_[index].at, parts_.scheduler->Now());
      return true;
    }
    // This result is older than the task, whose answer is still to come.
    if (!asked_[index].lost_because.has_value()) return false;
  }
  Settle(index, result);
  return true;
}

bool ApplyRun::OnPastApplies(const std::string& host, const PastApplies& past) {
  std::optional<size_t> index;
  {
    absl::MutexLock lock(&mutex_);
    index = record_.IndexOf(host);
  }
  if (!index.has_value()) return false;
  bool is_news = false;
  bool stands = false;
  for (const ApplyResult& result : past.results()) {
    if (result.apply_id() != head_.apply_id()) continue;
    const bool settles = EventOf(head_.rollback(), result).has_value();
    is_news |= settles && TakePast(*index, result);
    stands |= !settles;
  }
  // The task ended with the stream, or with the host's clusterd.
  const bool has_journal = HasJournal(head_.apply_id(), past);
  if (!HasEnded(head_.apply_id(), past) ||
      (has_journal && !(head_.rollback() && stands))) {
    return is_news;
  }
  std::optional<FindingValue> why;
  {
    absl::MutexLock lock(&mutex_);
    why = asked_[*index].lost_because;
  }
  // The task's own answer is still to come.
  if (!why.has_value()) return is_news;
  ApplyResult result = LostResult(
      Worded(has_journal ? "hub-not-rolled-back" : "hub-no-journal", *why));
  result.set_no_journal(head_.rollback() && !has_journal);
  Settle(*index, std::move(result));
  return true;
}

void ApplyRun::Settle(size_t index, ApplyResult result) {
  const CallbackGate::Pass pass(gate_);
  if (!pass) return;
  bool good;
  bool all;
  {
    absl::MutexLock lock(&mutex_);
    if (record_.state(index) != HOST_RUNNING) return;
    parts_.scheduler->Cancel(asked_[index].timer);
    const uint32_t failed = record_.failed();
    record_.End(index, std::move(result));
    record_.NoteDeadline(index, asked_[index].at, parts_.scheduler->Now());
    result = record_.host(index);
    good = record_.failed() == failed;
    all = AtWorkLocked().empty();
  }
  if (!good) {
    parts_.log->Warning(head_.rollback() ? "rollback " : "apply ", run_id(),
                        ": host ", hosts_[index].name, ": ",
                        ValueText(OutcomeWords(result.outcome())), ": ",
                        ErrorText(result));
  }
  for (const std::string& forced : result.forced()) {
    parts_.log->Notice(run_id(), ": host ", hosts_[index].name, ": forced by ",
                       ActorName(head_.actor()), ": ", forced);
  }
  ApplyEvent event;
  *event.mutable_host() = std::move(result);
  callbacks_.watcher.on_event(std::move(event));
  callbacks_.watcher.on_progress(shared_from_this());
  if (!all) return;
  // Saving waits for the disk, and the threads of gRPC should not.
  gate_.RunSoon(
      parts_.pool, parts_.scheduler,
      [run = shared_from_this()] { run->EndWave(); },
      WorkerPool::Place::kFirst);
}

void ApplyRun::EndWave() {
  ApplyEvent ended;
  size_t next = 0;
  std::optional<ApplyReport::Outcome> end;
  {
    absl::MutexLock lock(&mutex_);
    if (!record_.is_running()) return;
    ended = WaveEvent(wave_);
    *ended.mutable_wave()->mutable_result_words() = HostCounts(
        record_.report(), waves_.begin(wave_), waves_.begin(wave_ + 1));
    next = wave_ + 1;
    // Read the result only now: a lost host may have reported meanwhile.
    const bool failed = record_.failed() > 0;
    const int64_t deadline_ms = record_.report().confirmation().deadline_ms();
    if (next == waves_.count() || (failed && !head_.rollback())) {
      end = failed ? ApplyReport::STOPPED : ApplyReport::SUCCEEDED;
    } else if (record_.report().has_cancelled()) {
      end = ApplyReport::CANCELLED;
    } else if (deadline_ms > 0 &&
               absl::ToUnixMillis(parts_.scheduler->Now()) >= deadline_ms) {
      AddNote(Worded("hub-wave-too-late", next + 1), record_.mutable_report());
      end = ApplyReport::STOPPED;
    } else {
      // Hold the lock, so that a cancel reports the right last wave.
      TakeWaveLocked(next);
    }
  }
  callbacks_.watcher.on_event(std::move(ended));
  if (end.has_value()) return Finish(*end);
  const absl::Status begun = BeginWave();
  if (begun.ok()) return;
  {
    absl::MutexLock lock(&mutex_);
    record_.MoveAll(HostEvent::kNotAsked);
    AddNote(Worded("hub-wave-not-kept", next + 1, MessageWords(begun)),
            record_.mutable_report());
  }
  Finish(ApplyReport::STOPPED);
}

ApplyReport ApplyRun::CloseLocked(ApplyReport::Outcome outcome) {
  const absl::Time now = parts_.scheduler->Now();
  record_.mutable_report()->set_elapsed_ms(ToMs<uint64_t>(now - started_at_));
  record_.Close(outcome, wave_, waves_, now);
  return record_.report();
}

absl::Status ApplyRun::SaveRunning() const {
  const absl::MutexLock one_at_a_time(&saving_);
  ApplyReport to_save;
  {
    absl::MutexLock lock(&mutex_);
    if (!record_.is_running()) return absl::OkStatus();
    to_save = record_.report();
  }
  return callbacks_.save(to_save);
}

absl::Status ApplyRun::SaveEnd(const ApplyReport& report) const {
  const absl::MutexLock one_at_a_time(&saving_);
  const absl::Status saved = callbacks_.save(report);
  if (!saved.ok()) {
    parts_.log->Error("history: the end of ", run_id(),
                      " is not kept: ", saved.message());
  }
  return saved;
}

void ApplyRun::Finish(ApplyReport::Outcome outcome) {
  ApplyReport report;
  {
    absl::MutexLock lock(&mutex_);
    if (!record_.is_running()) return;
    report = CloseLocked(outcome);
  }
  const absl::Status saved = SaveEnd(report);
  if (!saved.ok()) {
    AddNote(Worded("hub-end-not-in-history", MessageWords(saved)), &report);
  }
  callbacks_.on_end(report);
  callbacks_.watcher.on_progress(shared_from_this());
  callbacks_.watcher.on_end(std::move(report));
}

absl::StatusOr<CancelResponse> ApplyRun::Cancel(const std::string& actor) {
  const CallbackGate::Pass pass(gate_);
  if (!pass) return UnavailableWords("msg-hub-stopping");
  auto response = ResponseOf<CancelResponse>(head_);
  bool is_news = false;
  {
    absl::MutexLock lock(&mutex_);
    if (!record_.is_running())
      return absl::FailedPreconditionError("it is over");
    ApplyReport* const report = record_.mutable_report();
    is_news = !report->has_cancelled();
    if (is_news) {
      ApplyReport::Cancellation* const mark = report->mutable_cancelled();
      mark->set_actor(actor);
      mark->set_at_ms(absl::ToUnixMillis(parts_.scheduler->Now()));
      mark->set_wave(static_cast<uint32_t>(wave_ + 1));
      AddNote(Worded(wave_ + 1 == waves_.count() ? "hub-cancelled-in-last-wave"
                                                 : "hub-cancelled-in-wave",
                     ActorName(actor), wave_ + 1, waves_.count()),
              report);
    }
    *response.mutable_cancelled() = report->cancelled();
    response.set_at_work(static_cast<uint32_t>(AtWorkLocked().size()));
    response.set_not_started(
        static_cast<uint32_t>(hosts_.size() - waves_.begin(wave_ + 1)));
  }
  response.set_waves(static_cast<uint32_t>(waves_.count()));
  if (!is_news) return response;
  const absl::Status saved = SaveRunning();
  if (!saved.ok()) {
    parts_.log->Error("history: that ", run_id(),
                      " is cancelled is not kept: ", saved.message());
  }
  ApplyEvent event;
  *event.mutable_cancelled() = response;
  callbacks_.watcher.on_event(std::move(event));
  return response;
}

absl::StatusOr<AbortApplyResponse> ApplyRun::Abort(const std::string& actor) {
  const CallbackGate::Pass pass(gate_);
  const absl::StatusOr<CancelResponse> cancelled = Cancel(actor);
  RETURN_IF_ERROR(cancelled.status());
  auto response = ResponseOf<AbortApplyResponse>(head_);
  std::vector<size_t> given_up;
  std::vector<AttachedHosts::TaskId> tasks;
  {
    absl::MutexLock lock(&mutex_);
    if (!record_.is_running())
      return absl::FailedPreconditionError("it is over");
    given_up = AtWorkLocked();
    for (const size_t index : given_up) {
      tasks.push_back(asked_[index].task);
      response.add_given_up(hosts_[index].name);
    }
    FindingValue aborted = Worded("hub-aborted-in-wave", ActorName(actor),
                                  wave_ + 1, waves_.count());
    if (!given_up.empty()) {
      aborted = Worded(
          "hub-aborted-given-up", aborted,
          NameList({response.given_up().begin(), response.given_up().end()}));
    }
    AddNote(std::move(aborted), record_.mutable_report());
  }
  response.set_aborted_by(actor);
  response.set_not_started(cancelled->not_started());
  // The task is cancelled; a later report goes to the history.
  for (const AttachedHosts::TaskId task : tasks) parts_.hosts->Cancel(task);
  for (const size_t index : given_up) {
    Settle(index, LostResult(Worded("hub-given-up-by", ActorName(actor))));
  }
  return response;
}

bool ApplyRun::Stop() {
  ApplyReport report;
  bool was_over;
  {
    absl::MutexLock lock(&mutex_);
    was_over = !record_.is_running();
    if (!was_over) report = CloseLocked(ApplyReport::INTERRUPTED);
  }
  // A save that is under way must end before the one below.
  gate_.Close();
  if (was_over) return false;
  SaveEnd(report).IgnoreError();
  callbacks_.watcher.on_end(
      UnavailableWords("msg-change-interrupted", run_id()));
  return true;
}

ApplyProgress ApplyRun::progress() const {
  ApplyProgress progress;
  progress.set_run_id(run_id());
  progress.set_waves(static_cast<uint32_t>(waves_.count()));
  absl::MutexLock lock(&mutex_);
  progress.set_wave(static_cast<uint32_t>(wave_ + 1));
  progress.set_done(record_.done());
  progress.set_failed(record_.failed());
  progress.set_pending(static_cast<uint32_t>(hosts_.size()) - record_.done() -
                       record_.failed());
  if (!record_.is_running()) return progress;
  for (const size_t index : AtWorkLocked()) {
    if (progress.at_work_size() == kMaxAtWork) break;
    progress.add_at_work(hosts_[index].name);
  }
  return progress;
}

}  // namespace clusterd
