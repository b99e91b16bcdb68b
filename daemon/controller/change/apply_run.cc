#include "daemon/controller/change/apply_run.h"

#include <algorithm>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "config/plan/settings.h"
#include "config/values/status_macros.h"
#include "daemon/controller/history/history_entry.h"

namespace clusterd {
namespace {

// Hosts that progress names; a person reads no more of them.
constexpr int kMaxAtWork = 8;
// How long a host whose stream ended is waited for.
constexpr absl::Duration kReattachWait = absl::Seconds(30);

// Empty for a step that is not in the plan, or no plan.
std::string StepTextIn(const HostPlan* plan, uint32_t step) {
  if (plan == nullptr) return "";
  const auto planned = absl::c_find_if(
      plan->steps(), [step](const PlanStep& s) { return s.id() == step; });
  return planned == plan->steps().end() ? "" : StepText(*planned);
}

}  // namespace

bool IsTakenBack(ApplyResult::Outcome outcome) {
  return outcome == ApplyResult::ROLLED_BACK ||
         outcome == ApplyResult::ROLLED_BACK_WITH_RESIDUES;
}

bool SettlesHost(bool rollback, const ApplyResult& result) {
  const ApplyResult::Outcome outcome = result.outcome();
  if (IsTakenBack(outcome)) return true;
  if (outcome == ApplyResult::NOTHING_TO_DO) {
    return rollback == result.of_rollback();
  }
  // The apply stands where its rollback was refused.
  if (outcome == ApplyResult::REFUSED) return rollback || !result.of_rollback();
  return !rollback &&
         (outcome == ApplyResult::APPLIED || outcome == ApplyResult::UNDONE ||
          outcome == ApplyResult::UNDONE_WITH_RESIDUES);
}

bool IsGoodOutcome(bool rollback, ApplyResult::Outcome outcome) {
  return outcome == ApplyResult::NOTHING_TO_DO ||
         outcome ==
             (rollback ? ApplyResult::ROLLED_BACK : ApplyResult::APPLIED);
}

int ExplainNotStarted(ApplyReport* report) {
  int not_started = 0;
  for (ApplyResult& host : *report->mutable_hosts()) {
    if (host.outcome() != ApplyResult::NOT_STARTED || !host.error().empty()) {
      continue;
    }
    ++not_started;
    host.set_error(report->outcome() == ApplyReport::INTERRUPTED
                       ? "the controller ended before its wave"
                       : "an earlier wave failed");
  }
  return not_started;
}

ApplyRun::ApplyRun(ApplyOrder order, const ControllerParts& parts,
                   Callbacks callbacks)
    : head_(order.report),
      wave_size_(std::max<size_t>(1, order.report.wave_size())),
      hosts_(std::move(order.hosts)),
      plan_(std::move(order.plan)),
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

size_t ApplyRun::wave_count() const {
  return (hosts_.size() + wave_size_ - 1) / wave_size_;
}

absl::Status ApplyRun::Start() {
  const CallbackGate::Pass pass(gate_);
  if (!pass) {
    return absl::UnavailableError("the controller is stopping");
  }
  absl::Status begun = BeginWave(0);
  if (!begun.ok()) {
    absl::MutexLock lock(&mutex_);
    over_ = true;
  }
  return begun;
}

Task ApplyRun::MakeTask(size_t index) const {
  const auto fill_in = [this](auto* change) {
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
  return task;
}

absl::Status ApplyRun::BeginWave(size_t wave) {
  const size_t begin = wave * wave_size_;
  const size_t end = std::min(hosts_.size(), begin + wave_size_);
  ApplyReport to_save;
  {
    absl::MutexLock lock(&mutex_);
    if (over_) return absl::OkStatus();
    wave_ = wave;
    for (size_t i = begin; i < end; ++i) {
      at_work_.insert(i);
      *report_.mutable_hosts(static_cast<int>(i)) = Lost(i, kNoAnswerYet);
    }
    to_save = report_;
  }
  // Kept before the first host is asked: were the controller to die in between,
  // the history would name hosts that were never asked, which is harmless, and
  // never miss one that was.
  RETURN_IF_ERROR(callbacks_.save(to_save));
  callbacks_.watcher.on_progress(shared_from_this());
  for (size_t i = begin; i < end; ++i) {
    HostTask task;
    task.host = hosts_[i].name;
    task.task = MakeTask(i);
    task.deadline = hosts_[i].deadline;
    {
      absl::MutexLock lock(&mutex_);
      if (over_) break;
      states_[i].asked_at = parts_.scheduler->Now();
    }
    task.progress = [run = shared_from_this(), i](StepOutcome step) {
      run->OnStep(i, std::move(step));
    };
    parts_.hosts->RunTask(
        std::move(task),
        [run = shared_from_this(), i](absl::StatusOr<TaskResult> answer) {
          run->OnTaskEnd(i, std::move(answer));
        });
  }
  return absl::OkStatus();
}

void ApplyRun::OnStep(size_t index, StepOutcome step) {
  const HostPlan* const plan = hosts_[index].plan;
  // A step ends once, and may be undone once. More is noise of a broken host.
  const size_t most =
      plan == nullptr ? 1024 : 2 * static_cast<size_t>(plan->steps_size());
  {
    absl::MutexLock lock(&mutex_);
    if (over_ || ++states_[index].steps_told > most) return;
  }
  ApplyEvent event;
  event.mutable_step()->set_host(hosts_[index].name);
  event.mutable_step()->set_text(StepTextIn(plan, step.step()));
  *event.mutable_step()->mutable_outcome() = std::move(step);
  callbacks_.watcher.on_event(std::move(event));
}

ApplyResult ApplyRun::Lost(size_t index, const std::string& why) const {
  ApplyResult result;
  result.set_apply_id(head_.apply_id());
  result.set_host(hosts_[index].name);
  result.set_outcome(ApplyResult::LOST);
  result.set_error(why);
  return result;
}

ApplyResult ApplyRun::Reported(size_t index, ApplyResult told) const {
  told.set_host(hosts_[index].name);
  // Only the host's own drift needs them: the facts of 10,000 hosts would be
  // most of the report. Whether it is a rollback the report says itself.
  told.clear_facts_after();
  told.clear_of_rollback();
  if (!head_.rollback() || !told.no_journal()) return told;
  if (hosts_[index].was_lost) {
    told.set_outcome(ApplyResult::NOTHING_TO_DO);
    return told;
  }
  told.set_outcome(ApplyResult::REFUSED);
  absl::StrAppend(
      told.mutable_error(),
      "; the history has it as in effect here, so its settings stay; ",
      plan_ == nullptr
          ? "the plan with the old values is no longer in the history"
          : absl::StrCat("the old values are in clusterctl show ",
                         plan_->plan_id()),
      "; change the spec to what is wanted and plan again, or set it by hand");
  return told;
}

// What the host says is not believed blindly: an answer about something else,
// or one that no such task has, leaves open what has become of the host, and
// that is LOST.
ApplyResult ApplyRun::ResultOf(size_t index,
                               absl::StatusOr<TaskResult> answer) const {
  const std::string why(answer.status().message());
  if (answer.ok() && answer->has_apply()) {
    ApplyResult result = std::move(*answer->mutable_apply());
    if (result.apply_id() != head_.apply_id()) {
      return Lost(index, absl::StrCat("it answered about apply \"",
                                      result.apply_id(), "\""));
    }
    // Of a rollback also "nothing to do": it was undone or rolled back before.
    if (!SettlesHost(head_.rollback(), result) &&
        result.outcome() != ApplyResult::NOTHING_TO_DO) {
      return Lost(index, absl::StrCat("its answer makes no sense: ",
                                      OutcomeWords(result.outcome())));
    }
    return Reported(index, std::move(result));
  }
  ApplyResult result = Lost(index, why);
  if (answer.ok() && answer->has_error()) {
    result.set_error(answer->error().message());
    result.set_outcome(ApplyResult::REFUSED);
  } else if (answer.ok()) {
    result.set_error("it answered another question");
  } else if (absl::IsUnimplemented(answer.status())) {
    result.set_outcome(ApplyResult::REFUSED);
    // Of these two nothing has gone to the host.
  } else if (absl::IsFailedPrecondition(answer.status()) ||
             absl::IsResourceExhausted(answer.status())) {
    result.set_outcome(ApplyResult::NOT_STARTED);
  }
  return result;
}

void ApplyRun::OnTaskEnd(size_t index, absl::StatusOr<TaskResult> answer) {
  // Only a broken stream leaves hope: its clusterd goes on, and tells how it
  // ended once it is attached again.
  if (!absl::IsUnavailable(answer.status())) {
    Settle(index, ResultOf(index, std::move(answer)));
    return;
  }
  {
    absl::MutexLock lock(&mutex_);
    states_[index].lost_because = std::string(answer.status().message());
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
  std::string why;
  {
    absl::MutexLock lock(&mutex_);
    left = states_[index].asked_at + hosts_[index].deadline -
           parts_.scheduler->Now();
    why = states_[index].lost_because;
  }
  // A host that is back may still be at it; its deadline bounds that, too.
  const bool back = parts_.hosts->IsAttached(hosts_[index].name);
  if (back && left > absl::ZeroDuration()) {
    WaitForReattach(index, left);
    return;
  }
  Settle(index,
         Lost(index, absl::StrCat(why, "; ",
                                  back ? "it attached again and did not tell "
                                         "how it ended"
                                       : "it has not attached again since")));
}

bool ApplyRun::OnPastApply(const std::string& host, const ApplyResult& result) {
  const auto found = index_of_.find(host);
  if (found == index_of_.end() || result.apply_id() != head_.apply_id() ||
      !SettlesHost(head_.rollback(), result)) {
    return false;
  }
  const size_t index = found->second;
  ApplyResult told = Reported(index, result);
  bool awaited;
  {
    absl::MutexLock lock(&mutex_);
    if (over_) return false;
    awaited = at_work_.count(index) > 0;
    // Its own answer is still to come; this is news of before.
    if (awaited && states_[index].lost_because.empty()) return false;
    ApplyResult* const known = report_.mutable_hosts(static_cast<int>(index));
    // It was given up; the report may still be put right while the run lasts.
    if (!awaited) {
      if (known->outcome() != ApplyResult::LOST) return false;
      *known = told;
      if (IsGoodOutcome(head_.rollback(), told.outcome())) {
        --failed_;
        ++done_;
      }
      return true;
    }
  }
  Settle(index, std::move(told));
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
  // The task went with the stream, or with the clusterd that had taken it.
  const bool has_journal =
      absl::c_linear_search(past.journals(), head_.apply_id());
  if (has_journal && !(head_.rollback() && stands)) return;
  std::string why;
  {
    absl::MutexLock lock(&mutex_);
    why = states_[found->second].lost_because;
  }
  // Its own answer is still to come.
  if (why.empty()) return;
  ApplyResult result =
      Lost(found->second,
           absl::StrCat(why, "; it attached again and ",
                        has_journal ? "did not begin to take it back"
                                    : "has no journal of it: not begun there"));
  if (head_.rollback() && !has_journal) {
    result.set_no_journal(true);
    result = Reported(found->second, std::move(result));
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
    *report_.mutable_hosts(static_cast<int>(index)) = result;
    ++(good ? done_ : failed_);
    all = at_work_.empty();
  }
  if (!good) {
    parts_.log->Warning(absl::StrCat(head_.rollback() ? "rollback " : "apply ",
                                     run_id(), ": host ", hosts_[index].name,
                                     ": ", OutcomeWords(result.outcome()), ": ",
                                     result.error()));
  }
  for (const std::string& forced : result.forced()) {
    parts_.log->Notice(absl::StrCat(run_id(), ": host ", hosts_[index].name,
                                    ": forced by ", head_.actor(), ": ",
                                    forced));
  }
  ApplyEvent event;
  *event.mutable_host() = std::move(result);
  callbacks_.watcher.on_event(std::move(event));
  callbacks_.watcher.on_progress(shared_from_this());
  if (!all) return;
  // Saving waits for the disk, and the threads of gRPC should not.
  gate_.RunSoon(parts_.pool, parts_.scheduler,
                [run = shared_from_this()] { run->EndWave(); });
}

void ApplyRun::EndWave() {
  size_t next = 0;
  bool failed = false;
  {
    absl::MutexLock lock(&mutex_);
    if (over_) return;
    next = wave_ + 1;
    // As it is by now: a host that was lost may have told in between.
    failed = failed_ > 0;
  }
  if (next == wave_count() || (failed && !head_.rollback())) {
    return Finish(failed ? ApplyReport::STOPPED : ApplyReport::SUCCEEDED);
  }
  const absl::Status begun = BeginWave(next);
  if (begun.ok()) return;
  {
    absl::MutexLock lock(&mutex_);
    // Nobody was asked of this wave, so it is not LOST after all.
    for (const size_t index : at_work_) {
      ApplyResult* const host = report_.mutable_hosts(static_cast<int>(index));
      host->set_outcome(ApplyResult::NOT_STARTED);
      host->clear_error();
    }
    at_work_.clear();
    report_.add_notes(absl::StrCat("the history cannot be written, so wave ",
                                   next + 1,
                                   " was not started: ", begun.message()));
  }
  Finish(ApplyReport::STOPPED);
}

ApplyReport ApplyRun::CloseLocked(ApplyReport::Outcome outcome) {
  over_ = true;
  report_.set_outcome(outcome);
  report_.set_elapsed_ms(static_cast<uint64_t>(
      absl::ToInt64Milliseconds(parts_.scheduler->Now() - started_at_)));
  const int not_started = ExplainNotStarted(&report_);
  if (not_started > 0) {
    report_.add_notes(absl::StrCat("it ended in wave ", wave_ + 1, " of ",
                                   wave_count(), ", so ", not_started,
                                   " hosts were not started"));
  }
  const bool some_applied =
      absl::c_any_of(report_.hosts(), [](const ApplyResult& host) {
        return host.outcome() == ApplyResult::APPLIED;
      });
  if (!head_.rollback() && outcome != ApplyReport::SUCCEEDED && some_applied) {
    report_.add_notes(
        absl::StrCat("hosts that were applied stay so; clusterctl rollback ",
                     run_id(), " takes them back"));
  }
  return report_;
}

absl::Status ApplyRun::SaveEnd(const ApplyReport& report) const {
  const absl::Status saved = callbacks_.save(report);
  if (!saved.ok()) {
    parts_.log->Error(absl::StrCat("history: the end of ", run_id(),
                                   " is not kept: ", saved.message()));
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
    report.add_notes(
        absl::StrCat("its end is not in the history: ", saved.message()));
  }
  callbacks_.on_end(report);
  callbacks_.watcher.on_progress(shared_from_this());
  callbacks_.watcher.on_end(std::move(report));
}

bool ApplyRun::Stop() {
  ApplyReport report;
  bool was_over;
  {
    absl::MutexLock lock(&mutex_);
    was_over = over_;
    if (!was_over) report = CloseLocked(ApplyReport::INTERRUPTED);
  }
  // A save that is under way must not come after the one below.
  gate_.Close();
  if (was_over) return false;
  SaveEnd(report).IgnoreError();
  callbacks_.watcher.on_end(absl::UnavailableError(absl::StrCat(
      "the controller stops; hosts finish or undo what they have begun, and ",
      run_id(), " is interrupted")));
  return true;
}

ApplyProgress ApplyRun::progress() const {
  ApplyProgress progress;
  progress.set_run_id(run_id());
  progress.set_waves(static_cast<uint32_t>(wave_count()));
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
