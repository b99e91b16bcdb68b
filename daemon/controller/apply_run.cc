#include "daemon/controller/apply_run.h"

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "config/plan/plan_text.h"

namespace clusterd {
namespace {

constexpr int kMaxAtWork = 8;
constexpr char kNoAnswerYet[] = "asked, and its answer is not here yet";
// When the pool has no room for the end of a wave.
constexpr absl::Duration kPoolRetry = absl::Milliseconds(100);

std::string LowerCaseName(ApplyResult::Outcome outcome) {
  std::string name = ApplyResult::Outcome_Name(outcome);
  for (char& c : name) {
    c = c == '_' ? ' '
                 : static_cast<char>(
                       absl::ascii_tolower(static_cast<unsigned char>(c)));
  }
  return name;
}

// Without what only the host's own drift needs: the facts of 10,000 hosts would
// be most of the report. And without what the report says itself.
void TrimResult(ApplyResult* result) {
  result->clear_facts_after();
  result->clear_of_rollback();
}

}  // namespace

bool SettlesHost(bool rollback, const ApplyResult& result) {
  switch (result.outcome()) {
    case ApplyResult::APPLIED:
    case ApplyResult::UNDONE:
    case ApplyResult::UNDONE_WITH_RESIDUES:
      return !rollback;
    case ApplyResult::NOTHING_TO_DO:
      return rollback == result.of_rollback();
    case ApplyResult::REFUSED:
      // The apply stands where its rollback was refused.
      return rollback || !result.of_rollback();
    case ApplyResult::ROLLED_BACK:
    case ApplyResult::ROLLED_BACK_WITH_RESIDUES:
      return true;
    default:
      return false;
  }
}

bool IsGoodOutcome(bool rollback, ApplyResult::Outcome outcome) {
  return outcome == ApplyResult::NOTHING_TO_DO ||
         outcome ==
             (rollback ? ApplyResult::ROLLED_BACK : ApplyResult::APPLIED);
}

class ApplyRun::Section {
 public:
  explicit Section(ApplyRun* run) : run_(run) {
    absl::MutexLock lock(&run_->mutex_);
    open_ = !run_->over_;
    if (open_) ++run_->sections_;
  }
  ~Section() {
    absl::MutexLock lock(&run_->mutex_);
    if (open_) --run_->sections_;
  }
  Section(const Section&) = delete;
  Section& operator=(const Section&) = delete;

  bool open() const { return open_; }

 private:
  ApplyRun* const run_;
  bool open_ = false;
};

ApplyRun::ApplyRun(ApplyOrder order, const Parts& parts, Callbacks callbacks)
    : run_id_(order.report.run_id()),
      apply_id_(order.report.apply_id()),
      actor_(order.report.actor()),
      rollback_(order.report.rollback()),
      force_(order.report.force()),
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
    result->set_apply_id(apply_id_);
    result->set_host(hosts_[i].name);
    result->set_outcome(ApplyResult::NOT_STARTED);
  }
}

size_t ApplyRun::wave_count() const {
  return (hosts_.size() + wave_size_ - 1) / wave_size_;
}

absl::Status ApplyRun::Start() {
  const Section section(this);
  if (!section.open()) {
    return absl::UnavailableError("the controller is stopping");
  }
  ApplyReport to_save;
  {
    absl::MutexLock lock(&mutex_);
    to_save = EnterWaveLocked(0);
  }
  const absl::Status saved = callbacks_.save(to_save);
  if (!saved.ok()) {
    absl::MutexLock lock(&mutex_);
    over_ = true;
    return saved;
  }
  if (callbacks_.watcher.on_begin) {
    callbacks_.watcher.on_begin(shared_from_this());
  }
  AskWave(0);
  return absl::OkStatus();
}

ApplyReport ApplyRun::EnterWaveLocked(size_t wave) {
  wave_ = wave;
  const size_t end = std::min(hosts_.size(), (wave + 1) * wave_size_);
  for (size_t i = wave * wave_size_; i < end; ++i) {
    at_work_.insert(i);
    *report_.mutable_hosts(static_cast<int>(i)) = Lost(i, kNoAnswerYet);
  }
  return report_;
}

Task ApplyRun::MakeTask(size_t index) const {
  Task task;
  if (rollback_) {
    RollbackTask* const rollback = task.mutable_rollback();
    rollback->set_apply_id(apply_id_);
    rollback->set_actor(actor_);
    rollback->set_force(force_);
    return task;
  }
  ApplyTask* const apply = task.mutable_apply();
  apply->set_apply_id(apply_id_);
  *apply->mutable_plan() = plan_->hosts(hosts_[index].in_plan);
  apply->set_plan_digest(plan_->digest());
  apply->set_actor(actor_);
  apply->set_force(force_);
  return task;
}

void ApplyRun::AskWave(size_t wave) {
  if (callbacks_.watcher.on_progress) callbacks_.watcher.on_progress();
  const size_t end = std::min(hosts_.size(), (wave + 1) * wave_size_);
  for (size_t i = wave * wave_size_; i < end; ++i) {
    HostTask task;
    task.host = hosts_[i].name;
    task.task = MakeTask(i);
    task.deadline = hosts_[i].deadline;
    {
      absl::MutexLock lock(&mutex_);
      if (over_) return;
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
}

std::string ApplyRun::StepTextOf(size_t index, uint32_t step) const {
  const int in_plan = hosts_[index].in_plan;
  if (plan_ == nullptr || in_plan < 0) return "";
  for (const PlanStep& planned : plan_->hosts(in_plan).steps()) {
    if (planned.id() == step) return StepText(planned);
  }
  return "";
}

void ApplyRun::OnStep(size_t index, StepOutcome step) {
  const int in_plan = hosts_[index].in_plan;
  // A step ends once, and may be undone once. More is noise of a broken host.
  const size_t most =
      plan_ == nullptr || in_plan < 0
          ? 1024
          : 2 * static_cast<size_t>(plan_->hosts(in_plan).steps_size());
  {
    absl::MutexLock lock(&mutex_);
    if (over_ || ++states_[index].steps_told > most) return;
  }
  if (!callbacks_.watcher.on_event) return;
  ApplyEvent event;
  event.mutable_step()->set_host(hosts_[index].name);
  event.mutable_step()->set_text(StepTextOf(index, step.step()));
  *event.mutable_step()->mutable_outcome() = std::move(step);
  callbacks_.watcher.on_event(std::move(event));
}

ApplyResult ApplyRun::Lost(size_t index, const std::string& why) const {
  ApplyResult result;
  result.set_apply_id(apply_id_);
  result.set_host(hosts_[index].name);
  result.set_outcome(ApplyResult::LOST);
  result.set_error(why);
  return result;
}

void ApplyRun::JudgeMissingJournal(size_t index, ApplyResult* result) const {
  if (hosts_[index].was_lost) {
    result->set_outcome(ApplyResult::NOTHING_TO_DO);
    return;
  }
  result->set_outcome(ApplyResult::REFUSED);
  absl::StrAppend(
      result->mutable_error(),
      "; the history has it as in effect here, so its settings stay; ",
      plan_ == nullptr
          ? "the plan with the old values is no longer in the history"
          : absl::StrCat("the old values are in clusterctl show ",
                         plan_->plan_id()),
      "; change the spec to what is wanted and plan again, or set it by hand");
}

ApplyResult ApplyRun::ResultOf(size_t index,
                               absl::StatusOr<TaskResult> answer) const {
  const std::string why(answer.status().message());
  if (answer.ok() && answer->has_apply()) {
    ApplyResult result = std::move(*answer->mutable_apply());
    if (result.apply_id() != apply_id_) {
      return Lost(index, absl::StrCat("it answered about apply \"",
                                      result.apply_id(), "\""));
    }
    // Of a rollback also "nothing to do": it was undone or rolled back before.
    if (!SettlesHost(rollback_, result) &&
        result.outcome() != ApplyResult::NOTHING_TO_DO) {
      return Lost(index, absl::StrCat("its answer makes no sense: ",
                                      LowerCaseName(result.outcome())));
    }
    result.set_host(hosts_[index].name);
    TrimResult(&result);
    if (rollback_ && result.no_journal()) JudgeMissingJournal(index, &result);
    return result;
  }
  ApplyResult result = Lost(index, why);
  if (answer.ok() && answer->has_error()) {
    result.set_error(answer->error().message());
    result.set_outcome(ApplyResult::REFUSED);
  } else if (answer.ok()) {
    result.set_error("it answered another question");
  } else if (absl::IsUnimplemented(answer.status())) {
    result.set_outcome(ApplyResult::REFUSED);
  } else if (absl::IsFailedPrecondition(answer.status()) ||
             absl::IsResourceExhausted(answer.status())) {
    result.set_outcome(ApplyResult::NOT_STARTED);
  }
  return result;
}

void ApplyRun::OnTaskEnd(size_t index, absl::StatusOr<TaskResult> answer) {
  if (!absl::IsUnavailable(answer.status())) {
    Settle(index, ResultOf(index, std::move(answer)));
    return;
  }
  {
    absl::MutexLock lock(&mutex_);
    states_[index].lost_because = std::string(answer.status().message());
  }
  WaitForReattach(index, parts_.reattach_wait);
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
  const Section section(this);
  if (!section.open()) return;
  absl::Duration left;
  std::string why;
  {
    absl::MutexLock lock(&mutex_);
    left = states_[index].asked_at + hosts_[index].deadline -
           parts_.scheduler->Now();
    why = states_[index].lost_because;
  }
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
  if (found == index_of_.end() || result.apply_id() != apply_id_ ||
      !SettlesHost(rollback_, result)) {
    return false;
  }
  const size_t index = found->second;
  ApplyResult told = result;
  TrimResult(&told);
  if (rollback_ && told.no_journal()) JudgeMissingJournal(index, &told);
  bool awaited;
  {
    absl::MutexLock lock(&mutex_);
    if (over_) return false;
    awaited = at_work_.count(index) > 0;
    // Its own answer is still to come; this is news of before.
    if (awaited && states_[index].lost_because.empty()) return false;
    ApplyResult* const known = report_.mutable_hosts(static_cast<int>(index));
    if (!awaited) {
      if (known->outcome() != ApplyResult::LOST) return false;
      *known = told;
      if (IsGoodOutcome(rollback_, told.outcome())) {
        --failed_;
        ++done_;
      }
      return true;
    }
  }
  Settle(index, std::move(told));
  return true;
}

void ApplyRun::Settle(size_t index, ApplyResult result) {
  const Section section(this);
  if (!section.open()) return;
  const bool good = IsGoodOutcome(rollback_, result.outcome());
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
    parts_.log->Warning(absl::StrCat(rollback_ ? "rollback " : "apply ",
                                     run_id_, ": host ", hosts_[index].name,
                                     ": ", LowerCaseName(result.outcome()),
                                     ": ", result.error()));
  }
  for (const std::string& forced : result.forced()) {
    parts_.log->Notice(absl::StrCat(run_id_, ": host ", hosts_[index].name,
                                    ": forced by ", actor_, ": ", forced));
  }
  if (callbacks_.watcher.on_event) {
    ApplyEvent event;
    *event.mutable_host() = std::move(result);
    callbacks_.watcher.on_event(std::move(event));
  }
  if (callbacks_.watcher.on_progress) callbacks_.watcher.on_progress();
  if (all) EndWaveSoon();
}

// Saving waits for the disk, and the threads of gRPC should not.
void ApplyRun::EndWaveSoon() {
  if (parts_.pool->TryRun([run = shared_from_this()] { run->EndWave(); })) {
    return;
  }
  parts_.scheduler->RunAfter(kPoolRetry, [weak = weak_from_this()] {
    if (const auto run = weak.lock()) run->EndWaveSoon();
  });
}

bool ApplyRun::WaveFailedLocked() const {
  const size_t end = std::min(hosts_.size(), (wave_ + 1) * wave_size_);
  for (size_t i = wave_ * wave_size_; i < end; ++i) {
    if (!IsGoodOutcome(rollback_,
                       report_.hosts(static_cast<int>(i)).outcome())) {
      return true;
    }
  }
  return false;
}

void ApplyRun::EndWave() {
  const Section section(this);
  if (!section.open()) return;
  ApplyReport to_save;
  size_t next = 0;
  bool failed = false;
  {
    absl::MutexLock lock(&mutex_);
    next = wave_ + 1;
    if ((rollback_ || !WaveFailedLocked()) && next < wave_count()) {
      to_save = EnterWaveLocked(next);
    }
    // As it is by now: a host that was lost may have told in between.
    failed = failed_ > 0;
  }
  if (to_save.hosts().empty()) {
    Finish(failed ? ApplyReport::STOPPED : ApplyReport::SUCCEEDED);
    return;
  }
  const absl::Status saved = callbacks_.save(to_save);
  if (saved.ok()) {
    AskWave(next);
    return;
  }
  {
    absl::MutexLock lock(&mutex_);
    for (const size_t index : at_work_) {
      ApplyResult* const host = report_.mutable_hosts(static_cast<int>(index));
      host->set_outcome(ApplyResult::NOT_STARTED);
      host->clear_error();
    }
    at_work_.clear();
    report_.add_notes(absl::StrCat("the history cannot be written, so wave ",
                                   next + 1,
                                   " was not started: ", saved.message()));
  }
  Finish(ApplyReport::STOPPED);
}

void ApplyRun::AddNotesLocked() {
  int not_started = 0;
  for (const ApplyResult& host : report_.hosts()) {
    if (host.outcome() == ApplyResult::NOT_STARTED && host.error().empty()) {
      ++not_started;
    }
  }
  if (not_started > 0) {
    report_.add_notes(absl::StrCat("it ended in wave ", wave_ + 1, " of ",
                                   wave_count(), ", so ", not_started,
                                   " hosts were not started"));
  }
  if (rollback_ || report_.outcome() == ApplyReport::SUCCEEDED) return;
  for (const ApplyResult& host : report_.hosts()) {
    if (host.outcome() == ApplyResult::APPLIED) {
      report_.add_notes(
          absl::StrCat("hosts that were applied stay so; clusterctl rollback ",
                       run_id_, " takes them back"));
      return;
    }
  }
}

ApplyReport ApplyRun::CloseLocked(ApplyReport::Outcome outcome) {
  over_ = true;
  report_.set_outcome(outcome);
  report_.set_elapsed_ms(static_cast<uint64_t>(
      absl::ToInt64Milliseconds(parts_.scheduler->Now() - started_at_)));
  AddNotesLocked();
  for (ApplyResult& host : *report_.mutable_hosts()) {
    if (host.outcome() == ApplyResult::NOT_STARTED && host.error().empty()) {
      host.set_error(outcome == ApplyReport::INTERRUPTED
                         ? "the controller ended before its wave"
                         : "an earlier wave failed");
    }
  }
  return report_;
}

void ApplyRun::Finish(ApplyReport::Outcome outcome) {
  ApplyReport report;
  {
    absl::MutexLock lock(&mutex_);
    if (over_) return;
    report = CloseLocked(outcome);
  }
  const absl::Status saved = callbacks_.save(report);
  if (!saved.ok()) {
    parts_.log->Error(absl::StrCat("history: the end of ", run_id_,
                                   " is not kept: ", saved.message()));
    report.add_notes(absl::StrCat("its end is not in the history: ",
                                  std::string(saved.message())));
  }
  if (callbacks_.on_end) callbacks_.on_end(report);
  if (callbacks_.watcher.on_progress) callbacks_.watcher.on_progress();
  if (callbacks_.watcher.on_end) callbacks_.watcher.on_end(std::move(report));
}

bool ApplyRun::Stop() {
  ApplyReport report;
  {
    absl::MutexLock lock(&mutex_);
    const bool was_over = over_;
    if (!was_over) report = CloseLocked(ApplyReport::INTERRUPTED);
    const auto idle = [this]() ABSL_SHARED_LOCKS_REQUIRED(mutex_) {
      return sections_ == 0;
    };
    mutex_.Await(absl::Condition(&idle));
    if (was_over) return false;
  }
  const absl::Status saved = callbacks_.save(report);
  if (!saved.ok()) {
    parts_.log->Error(absl::StrCat("history: the end of ", run_id_,
                                   " is not kept: ", saved.message()));
  }
  if (callbacks_.watcher.on_end) {
    callbacks_.watcher.on_end(absl::UnavailableError(absl::StrCat(
        "the controller stops; hosts finish or undo what they have begun, and ",
        run_id_, " is interrupted")));
  }
  return true;
}

ApplyProgress ApplyRun::progress() const {
  ApplyProgress progress;
  progress.set_run_id(run_id_);
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
  return report_;
}

}  // namespace clusterd
