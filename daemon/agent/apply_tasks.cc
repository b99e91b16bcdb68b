#include "daemon/agent/apply_tasks.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"
#include "daemon/agent/apply/outcome_text.h"

namespace clusterd {
namespace {

constexpr int kMaxPastApplies = 16;

std::string OneLine(absl::string_view text) {
  return absl::StrReplaceAll(text, {{"\n", "; "}});
}

// Never drops the outcome, the error or what is left over.
void Bound(ApplyResult* result) {
  CleanTexts(result);
  if (result->ByteSizeLong() <= kMaxResultBytes) return;
  result->clear_facts_after();
  if (result->ByteSizeLong() <= kMaxResultBytes) return;
  for (StepOutcome& step : *result->mutable_steps()) step.clear_detail();
}

std::string Summary(const ApplyResult& result) {
  std::string text = ApplyResult::Outcome_Name(result.outcome());
  if (!result.error().empty()) absl::StrAppend(&text, ": ", result.error());
  for (const std::string& residue : result.residues()) {
    absl::StrAppend(&text, "; left over: ", residue);
  }
  for (const std::string& forced : result.forced()) {
    absl::StrAppend(&text, "; forced: ", forced);
  }
  return text;
}

bool IsAsWished(const ApplyResult& result) {
  return result.outcome() == ApplyResult::APPLIED ||
         result.outcome() == ApplyResult::NOTHING_TO_DO ||
         result.outcome() == ApplyResult::ROLLED_BACK;
}

}  // namespace

ApplyTasks::ApplyTasks(std::string host, Applier* applier, Log* log,
                       AppliesRecord* record)
    : host_(std::move(host)), applier_(applier), log_(log), record_(record) {}

ApplyTasks::~ApplyTasks() { Stop(); }

void ApplyTasks::Recover() {
  if (record_ != nullptr) record_->BeginChange();
  const absl::Status status = TryRecover();
  if (!status.ok()) {
    log_->Error(
        absl::StrCat("nothing is applied on this host: ", status.message()));
  }
  ReadPast(status);
}

absl::Status ApplyTasks::TryRecover() {
  const auto results = applier_->Recover();
  if (!results.ok()) return results.status();
  for (const ApplyResult& result : *results) {
    log_->Warning(absl::StrCat("apply ", result.apply_id(),
                               " was cut off: ", Summary(result)));
  }
  return absl::OkStatus();
}

void ApplyTasks::Apply(const ApplyTask& task, Progress progress,
                       const Done& done) {
  ApplyRequest request;
  request.plan = task.plan();
  request.plan_digest = task.plan_digest();
  request.apply_id = task.apply_id();
  request.actor = task.actor();
  request.force = task.force();
  request.progress = std::move(progress);
  Start(
      absl::StrCat("apply ", task.apply_id(), " of ", task.actor()),
      task.apply_id(), [this, request] { return applier_->Apply(request); },
      done);
}

void ApplyTasks::RollBack(const RollbackTask& task, const Done& done) {
  RollbackRequest request;
  request.apply_id = task.apply_id();
  request.actor = task.actor();
  request.force = task.force();
  Start(
      absl::StrCat("rollback of apply ", task.apply_id(), " by ", task.actor()),
      task.apply_id(),
      [this, request]() -> absl::StatusOr<ApplyResult> {
        auto result = applier_->Rollback(request);
        if (!absl::IsNotFound(result.status())) return result;
        ApplyResult refused = ResultFor(request.apply_id, result.status());
        refused.set_no_journal(true);
        return refused;
      },
      done);
}

void ApplyTasks::Start(const std::string& what, const std::string& apply_id,
                       Change change, const Done& done) {
  absl::Status refused;
  {
    absl::MutexLock lock(&mutex_);
    if (stopping_) {
      refused = absl::UnavailableError(
          absl::StrCat(host_, ": its clusterd is stopping"));
    } else if (running_) {
      refused = absl::UnavailableError(absl::StrCat(
          host_, ": another apply or rollback is running on this host"));
    } else {
      running_ = true;
      ++unanswered_;
    }
  }
  if (refused.ok()) {
    // There is room: only a task whose `done` has begun may be before it.
    const bool queued = thread_.TryRun(
        [this, what, apply_id, change = std::move(change), done] {
          ApplyResult result = Run(what, apply_id, change);
          {
            absl::MutexLock lock(&mutex_);
            running_ = false;
          }
          done(std::move(result));
          absl::MutexLock lock(&mutex_);
          --unanswered_;
        });
    if (queued) return;
    refused = absl::UnavailableError(
        absl::StrCat(host_, ": too many applies wait on this host"));
    absl::MutexLock lock(&mutex_);
    running_ = false;
    --unanswered_;
  }
  log_->Warning(absl::StrCat(what, " refused: ", refused.message()));
  done(ResultFor(apply_id, refused));
}

ApplyResult ApplyTasks::Run(const std::string& what,
                            const std::string& apply_id, const Change& change) {
  log_->Notice(absl::StrCat(what, " begins"));
  if (record_ != nullptr) record_->BeginChange();
  bool recovered;
  {
    absl::MutexLock lock(&mutex_);
    recovered = recovered_;
  }
  const absl::Status ready = recovered ? absl::OkStatus() : TryRecover();
  const absl::StatusOr<ApplyResult> changed =
      ready.ok() ? change() : absl::StatusOr<ApplyResult>(ready);
  ApplyResult result =
      changed.ok() ? *changed : ResultFor(apply_id, changed.status());
  Bound(&result);
  log_->Write(IsAsWished(result) ? LogLevel::kNotice : LogLevel::kWarning,
              absl::StrCat(what, " ended: ", Summary(result)));
  ReadPast(ready);
  return result;
}

ApplyResult ApplyTasks::ResultFor(const std::string& apply_id,
                                  const absl::Status& refused) const {
  ApplyResult result;
  result.set_apply_id(apply_id);
  result.set_host(host_);
  result.set_outcome(ApplyResult::REFUSED);
  // The result names its host already.
  absl::string_view why = refused.message();
  absl::ConsumePrefix(&why, absl::StrCat(host_, ": "));
  result.set_error(OutcomeText(OneLine(why)));
  return result;
}

void ApplyTasks::ReadPast(const absl::Status& recovered) {
  const absl::StatusOr<std::vector<JournalState>> states =
      applier_->ListApplies();
  if (record_ != nullptr && recovered.ok()) record_->EndChange(states);
  if (record_ != nullptr && !recovered.ok()) record_->EndChange(recovered);
  {
    absl::MutexLock lock(&mutex_);
    recovered_ =
        recovered.ok() && states.ok() &&
        std::none_of(states->begin(), states->end(),
                     [](const JournalState& s) { return s.unfinished(); });
  }
  if (!states.ok()) return;
  std::vector<ApplyResult> newest;
  size_t bytes = 0;
  for (auto state = states->rbegin(); state != states->rend(); ++state) {
    if (newest.size() == kMaxPastApplies) break;
    if (state->end.outcome() == ApplyResult::OUTCOME_UNSPECIFIED) continue;
    newest.push_back(state->end);
    newest.back().set_apply_id(state->begin.apply_id());
    newest.back().set_host(host_);
    newest.back().clear_facts_after();
    Bound(&newest.back());
    bytes += newest.back().ByteSizeLong();
    if (bytes > kMaxResultBytes) {
      newest.pop_back();
      break;
    }
  }
  PastApplies past;
  for (auto result = newest.rbegin(); result != newest.rend(); ++result) {
    *past.add_results() = std::move(*result);
  }
  absl::MutexLock lock(&mutex_);
  past_ = std::move(past);
}

PastApplies ApplyTasks::Past() const {
  absl::MutexLock lock(&mutex_);
  return past_;
}

void ApplyTasks::Stop() {
  absl::MutexLock lock(&mutex_);
  stopping_ = true;
  const auto idle = [this]() ABSL_SHARED_LOCKS_REQUIRED(mutex_) {
    return unanswered_ == 0;
  };
  mutex_.Await(absl::Condition(&idle));
}

}  // namespace clusterd
