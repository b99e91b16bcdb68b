#include "daemon/controller/change/apply_run.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/algorithm/container.h"
#include "config/plan/settings.h"
#include "config/values/status_macros.h"
#include "config/words/message.h"
#include "config/words/subject_text.h"
#include "daemon/audit/audit_log.h"
#include "daemon/controller/history/history_entry.h"
#include "daemon/controller/hosts/fact_run.h"

namespace clusterd {
namespace {

// Progress names at most this many hosts; people do not read more.
constexpr int kMaxAtWork = 8;
// How long the run waits for a host whose stream ended.
constexpr absl::Duration kReattachWait = absl::Seconds(30);

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
      report_(std::move(order.report)),
      states_(hosts_.size()) {
  report_.set_schema_version(1);
  report_.set_started_at_ms(absl::ToUnixMillis(started_at_));
  report_.set_outcome(ApplyReport::RUNNING);
  for (size_t i = 0; i < hosts_.size(); ++i) {
    index_of_[hosts_[i].name] = i;
    ApplyResult* const result = report_.add_hosts();
    result->set_apply_id(head_.apply_id());
    result->set_host(hosts_[i].name);
    result->set_outcome(ApplyResult::NOT_STARTED);
  }
}

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
    over_ = true;
  }
  return begun;
}

Task ApplyRun::MakeTask(size_t index) const {
  const auto fill_in = [this](auto* change) {
    if (parts_.audit != nullptr) {
      FillInAsker(caller_, parts_.audit->head_to_tell(), change);
    }
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
    at_work_.insert(i);
    *report_.mutable_hosts(static_cast<int>(i)) =
        LostResult(head_, hosts_[i].name, Worded(kNoAnswerYet));
  }
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
    if (over_) return absl::OkStatus();
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
      if (over_) break;
      states_[i].asked_at = parts_.scheduler->Now();
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
      states_[i].task = id;
      wanted = at_work_.count(i) > 0;
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
    HostState& state = states_[index];
    if (over_ || ++state.steps_seen > most) return;
    task = state.task;
    wait = std::min(
        SilenceAfter(index, state.steps_seen),
        state.asked_at + hosts_[index].deadline - parts_.scheduler->Now());
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
    return Settle(index, ResultOfAnswer(head_, hosts_[index], plan_.get(),
                                        std::move(answer)));
  }
  {
    absl::MutexLock lock(&mutex_);
    states_[index].lost_because = MessageWords(answer.status());
  }
  WaitForReattach(index, kReattachWait);
}

void ApplyRun::WaitForReattach(size_t index, absl::Duration wait) {
  absl::MutexLock lock(&mutex_);
  if (over_ || at_work_.count(index) == 0) return;
  states_[index].timer =
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
    left = states_[index].asked_at + hosts_[index].deadline -
           parts_.scheduler->Now();
    why = states_[index].lost_because.value_or(FindingValue());
  }
  // An attached host may still be busy, but only until its deadline.
  const bool back = parts_.hosts->IsAttached(hosts_[index].name);
  if (back && left > absl::ZeroDuration()) return WaitForReattach(index, left);
  Settle(index, LostResult(head_, hosts_[index].name,
                           Worded(back ? "hub-attached-silent"
                                       : "hub-not-attached-since",
                                  why)));
}

bool ApplyRun::OnPastApply(const std::string& host, const ApplyResult& result) {
  const auto found = index_of_.find(host);
  if (found == index_of_.end() || result.apply_id() != head_.apply_id() ||
      !SettlesHost(head_.rollback(), result)) {
    return false;
  }
  const size_t index = found->second;
  ApplyResult reported = AsReported(head_, hosts_[index], plan_.get(), result);
  bool awaited;
  {
    absl::MutexLock lock(&mutex_);
    if (over_) return false;
    awaited = at_work_.count(index) > 0;
    // This result is older than the task, whose answer is still to come.
    if (awaited && !states_[index].lost_because.has_value()) return false;
    ApplyResult* const known = report_.mutable_hosts(static_cast<int>(index));
    // Correct the report while the run lasts: the host was LOST, or it has
    // reverted before the run could be confirmed.
    if (!awaited) {
      const bool reverted =
          reported.not_confirmed() && known->outcome() == ApplyResult::APPLIED;
      if (known->outcome() != ApplyResult::LOST && !reverted) return false;
      NoteReverts(states_[index].asked_at, parts_.scheduler->Now(), &reported,
                  &report_);
      *known = reported;
      if (reverted) {
        --done_;
        ++failed_;
      } else if (IsGoodOutcome(head_.rollback(), reported.outcome())) {
        --failed_;
        ++done_;
      }
      return true;
    }
  }
  Settle(index, std::move(reported));
  return true;
}

void ApplyRun::OnPastApplies(const std::string& host, const PastApplies& past) {
  bool stands = false;
  for (const ApplyResult& result : past.results()) {
    OnPastApply(host, result);
    stands |= result.apply_id() == head_.apply_id() &&
              !SettlesHost(head_.rollback(), result);
  }
  const auto found = index_of_.find(host);
  if (found == index_of_.end() || !past.knows_all() ||
      past.at_work() == head_.apply_id()) {
    return;
  }
  // The task ended with the stream, or with the host's clusterd.
  const bool has_journal =
      absl::c_linear_search(past.journals(), head_.apply_id());
  if (has_journal && !(head_.rollback() && stands)) return;
  std::optional<FindingValue> why;
  {
    absl::MutexLock lock(&mutex_);
    why = states_[found->second].lost_because;
  }
  // The task's own answer is still to come.
  if (!why.has_value()) return;
  ApplyResult result = LostResult(
      head_, host,
      Worded(has_journal ? "hub-not-rolled-back" : "hub-no-journal", *why));
  if (head_.rollback() && !has_journal) {
    result.set_no_journal(true);
    result = AsReported(head_, hosts_[found->second], plan_.get(),
                        std::move(result));
  }
  Settle(found->second, std::move(result));
}

void ApplyRun::Settle(size_t index, ApplyResult result) {
  const CallbackGate::Pass pass(gate_);
  if (!pass) return;
  const bool good = IsGoodOutcome(head_.rollback(), result.outcome());
  bool all;
  {
    absl::MutexLock lock(&mutex_);
    if (over_ || at_work_.erase(index) == 0) return;
    parts_.scheduler->Cancel(states_[index].timer);
    NoteReverts(states_[index].asked_at, parts_.scheduler->Now(), &result,
                &report_);
    *report_.mutable_hosts(static_cast<int>(index)) = result;
    ++(good ? done_ : failed_);
    all = at_work_.empty();
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
    if (over_) return;
    ended = WaveEvent(wave_);
    *ended.mutable_wave()->mutable_result_words() =
        HostCounts(report_, waves_.begin(wave_), waves_.begin(wave_ + 1));
    next = wave_ + 1;
    // Read the result only now: a lost host may have reported meanwhile.
    const bool failed = failed_ > 0;
    const int64_t deadline_ms = report_.confirmation().deadline_ms();
    if (next == waves_.count() || (failed && !head_.rollback())) {
      end = failed ? ApplyReport::STOPPED : ApplyReport::SUCCEEDED;
    } else if (report_.has_cancelled()) {
      end = ApplyReport::CANCELLED;
    } else if (deadline_ms > 0 &&
               absl::ToUnixMillis(parts_.scheduler->Now()) >= deadline_ms) {
      AddNote(Worded("hub-wave-too-late", next + 1), &report_);
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
    // No host of this wave was asked, so none is LOST.
    for (const size_t index : at_work_) {
      ApplyResult* const host = report_.mutable_hosts(static_cast<int>(index));
      host->set_outcome(ApplyResult::NOT_STARTED);
      host->clear_error_words();
    }
    at_work_.clear();
    AddNote(Worded("hub-wave-not-kept", next + 1, MessageWords(begun)),
            &report_);
  }
  Finish(ApplyReport::STOPPED);
}

ApplyReport ApplyRun::CloseLocked(ApplyReport::Outcome outcome) {
  over_ = true;
  report_.set_elapsed_ms(ToMs<uint64_t>(parts_.scheduler->Now() - started_at_));
  CloseReport(outcome, wave_, waves_, parts_.scheduler->Now(), &report_);
  return report_;
}

absl::Status ApplyRun::SaveRunning() const {
  const absl::MutexLock one_at_a_time(&saving_);
  ApplyReport to_save;
  {
    absl::MutexLock lock(&mutex_);
    if (over_) return absl::OkStatus();
    to_save = report_;
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
    if (over_) return;
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
  CancelResponse response;
  bool is_news = false;
  {
    absl::MutexLock lock(&mutex_);
    if (over_) return absl::FailedPreconditionError("it is over");
    is_news = !report_.has_cancelled();
    if (is_news) {
      ApplyReport::Cancellation* const mark = report_.mutable_cancelled();
      mark->set_actor(actor);
      mark->set_at_ms(absl::ToUnixMillis(parts_.scheduler->Now()));
      mark->set_wave(static_cast<uint32_t>(wave_ + 1));
      NoteCancellation(wave_, waves_, &report_);
    }
    *response.mutable_cancelled() = report_.cancelled();
    response.set_at_work(static_cast<uint32_t>(at_work_.size()));
    response.set_not_started(
        static_cast<uint32_t>(hosts_.size() - waves_.begin(wave_ + 1)));
  }
  response.set_schema_version(1);
  response.set_run_id(run_id());
  response.set_rollback(head_.rollback());
  response.set_actor(head_.actor());
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
  AbortApplyResponse response;
  std::vector<size_t> given_up;
  std::vector<AttachedHosts::TaskId> tasks;
  {
    absl::MutexLock lock(&mutex_);
    if (over_) return absl::FailedPreconditionError("it is over");
    for (const size_t index : at_work_) {
      given_up.push_back(index);
      tasks.push_back(states_[index].task);
      response.add_given_up(hosts_[index].name);
    }
    FindingValue aborted = Worded("hub-aborted-in-wave", ActorName(actor),
                                  wave_ + 1, waves_.count());
    if (!given_up.empty()) {
      aborted = Worded(
          "hub-aborted-given-up", aborted,
          NameList({response.given_up().begin(), response.given_up().end()}));
    }
    AddNote(std::move(aborted), &report_);
  }
  response.set_schema_version(1);
  response.set_run_id(run_id());
  response.set_rollback(head_.rollback());
  response.set_actor(head_.actor());
  response.set_aborted_by(actor);
  response.set_not_started(cancelled->not_started());
  // The task is cancelled; a later report goes to the history.
  for (const AttachedHosts::TaskId task : tasks) parts_.hosts->Cancel(task);
  for (const size_t index : given_up) {
    Settle(index, LostResult(head_, hosts_[index].name,
                             Worded("hub-given-up-by", ActorName(actor))));
  }
  return response;
}

bool ApplyRun::Stop() {
  ApplyReport report;
  bool was_over;
  {
    absl::MutexLock lock(&mutex_);
    was_over = over_;
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
  progress.set_done(done_);
  progress.set_failed(failed_);
  progress.set_pending(static_cast<uint32_t>(hosts_.size()) - done_ - failed_);
  for (const size_t index : at_work_) {
    if (progress.at_work_size() == kMaxAtWork) break;
    progress.add_at_work(hosts_[index].name);
  }
  return progress;
}

ApplyReport ApplyRun::report() const {
  absl::MutexLock lock(&mutex_);
  ApplyReport report = report_;
  for (const size_t index : at_work_) {
    if (over_) break;
    report.mutable_hosts(static_cast<int>(index))
        ->set_outcome(ApplyResult::RUNNING);
  }
  return report;
}

}  // namespace clusterd
