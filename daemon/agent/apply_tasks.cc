#include "daemon/agent/apply_tasks.h"

#include <algorithm>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "config/words/message.h"
#include "config/words/quoted_text.h"
#include "config/words/subject_text.h"
#include "daemon/agent/task_runner.h"

namespace clusterd {
namespace {

constexpr size_t kMaxPastApplies = 16;
// The controller's limit; Applier drops the oldest ones long before.
constexpr size_t kMaxJournalIds = 1024;
// Results without a journal that are kept in memory.
constexpr size_t kMaxRecent = 8;
constexpr size_t kMinTextBytes = 64;
// Limits of apply id and actor, which are logged and kept unchecked.
constexpr size_t kMaxIdBytes = 256;
constexpr size_t kMaxActorBytes = 512;

// Printable ASCII, so it can be cut anywhere.
void Shorten(size_t bytes, std::string* text) {
  if (text->size() <= bytes) return;
  text->resize(bytes);
  *text += "...";
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

template <typename Task>
AuditEntry Audited(absl::string_view what, const Task& task) {
  AuditEntry entry = AuditedTask(what, task);
  entry.set_subject(task.apply_id());
  return entry;
}

}  // namespace

std::string InterruptedText(const ApplyResult& result) {
  return absl::StrCat(
      "apply ", result.apply_id(),
      result.not_confirmed() ? " was not confirmed: " : " was cut off: ",
      Summary(result));
}

AuditEntry RecoveryOf(const std::string& apply_id) {
  return MakeAuditEntry("recovery", apply_id);
}

std::string RecoveryText(const absl::StatusOr<ApplyResult>& result) {
  return result.ok()
             ? Summary(*result)
             : absl::StrReplaceAll(result.status().message(), {{"\n", "; "}});
}

// Never drops the outcome, the error or a residue.
void BoundResult(ApplyResult* result) {
  // One fact may hold all rules of a firewall, too much for a controller, which
  // does not need them.
  result->clear_facts_after();
  CleanTexts(result);
  if (result->ByteSizeLong() <= kMaxResultBytes) return;
  // The texts repeat the words.
  result->clear_error_words();
  result->clear_residues_words();
  result->clear_forced_words();
  for (StepOutcome& step : *result->mutable_steps()) step.clear_detail_words();
  if (result->ByteSizeLong() <= kMaxResultBytes) return;
  for (StepOutcome& step : *result->mutable_steps()) step.clear_detail();
  if (result->ByteSizeLong() <= kMaxResultBytes) return;
  const auto lines = static_cast<size_t>(result->residues_size()) +
                     static_cast<size_t>(result->forced_size());
  const size_t most = std::max(kMinTextBytes, kMaxResultBytes / 2 / lines);
  for (std::string& text : *result->mutable_residues()) Shorten(most, &text);
  for (std::string& text : *result->mutable_forced()) Shorten(most, &text);
}

void ApplyTasks::Recover(Scheduler* scheduler) {
  {
    absl::MutexLock lock(&mutex_);
    scheduler_ = scheduler;
  }
  record_->BeginChange();
  bool undone = false;
  const absl::Status recovered = TryRecover(&undone);
  ReadPast(recovered, undone);
}

void ApplyTasks::OnTimer() {
  absl::MutexLock lock(&mutex_);
  timer_ = 0;
  if (stopping_) return;
  const absl::Duration left = TimeLeftLocked();
  if (recovered_ && left > absl::ZeroDuration()) {
    // Nothing is due yet.
    if (waits_.has_value()) SetTimerLocked(std::min(left, kDeadlineRound));
    return;
  }
  // A running task has already tried this.
  if (at_work_ || !thread_.TryRun([this] { RecoverAgain(); })) {
    SetTimerLocked(kUndoRetry);
  }
}

void ApplyTasks::RecoverAgain() {
  std::string before;
  {
    absl::MutexLock lock(&mutex_);
    const bool is_due = TimeLeftLocked() == absl::ZeroDuration();
    if (stopping_ || (recovered_ && !is_due)) return;
    before = unfinished_;
  }
  record_->BeginChange();
  bool undone = false;
  const absl::Status status = TryRecover(&undone);
  if (status.ok() || status.message() != before) {
    ReadPast(status, undone);
    if (undone) TellUndone();
    return;
  }
  record_->EndUnchanged();
  absl::MutexLock lock(&mutex_);
  SetTimerLocked(kUndoRetry);
}

absl::Status ApplyTasks::TryRecover(bool* undone) {
  UndoWatch watch;
  watch.begins = [this](const std::string& id) {
    // If this write fails, it is only logged: a half-changed host is worse.
    audit_->Begin(RecoveryOf(id)).IgnoreError();
  };
  watch.ends = [this, undone](const std::string& id,
                              const absl::StatusOr<ApplyResult>& result) {
    if (result.ok()) {
      *undone = true;
      log_->Warning(InterruptedText(*result));
      // Also report results that a full disk kept out of the journal.
      ApplyResult sent = *result;
      BoundResult(&sent);
      absl::MutexLock lock(&mutex_);
      if (sent.not_confirmed()) RememberLocked(sent);
    }
    audit_->End(RecoveryOf(id), RecoveryText(result));
  };
  return applier_->Recover(watch).status();
}

void ApplyTasks::Apply(const ApplyTask& task, Progress progress,
                       const Done& done) {
  ApplyRequest request;
  request.plan = task.plan();
  request.plan_digest = task.plan_digest();
  request.apply_id = task.apply_id();
  request.actor = PrintableText(task.actor(), kMaxActorBytes);
  request.force = task.force();
  request.confirm_within = absl::Milliseconds(task.confirm_within_ms());
  request.progress = std::move(progress);
  const std::string id = task.apply_id().substr(0, kMaxIdBytes);
  AuditEntry audited = Audited("apply", task);
  audited.set_digest(task.plan_digest());
  Start(
      {absl::StrCat("apply ", PrintableText(id), " of ",
                    ActorName(request.actor)),
       id, /*rollback=*/false, /*confirm=*/false, std::move(audited)},
      [this, request] { return applier_->Apply(request); }, done);
}

void ApplyTasks::RollBack(const RollbackTask& task, const Done& done) {
  RollbackRequest request;
  request.apply_id = task.apply_id();
  request.actor = PrintableText(task.actor(), kMaxActorBytes);
  request.force = task.force();
  const std::string id = task.apply_id().substr(0, kMaxIdBytes);
  Start(
      {absl::StrCat("rollback of apply ", PrintableText(id), " by ",
                    ActorName(request.actor)),
       id, /*rollback=*/true, /*confirm=*/false, Audited("rollback", task)},
      [this, request] { return applier_->Rollback(request); }, done);
}

void ApplyTasks::Confirm(const ConfirmTask& task, const Done& done) {
  KeepRequest request;
  request.apply_id = task.apply_id();
  request.actor = PrintableText(task.actor(), kMaxActorBytes);
  request.extend_by = absl::Milliseconds(task.extend_by_ms());
  const std::string id = task.apply_id().substr(0, kMaxIdBytes);
  const char* const what = task.extend_by_ms() > 0 ? "extend" : "confirm";
  Start(
      {absl::StrCat(what, " apply ", PrintableText(id), " by ",
                    ActorName(request.actor)),
       id, /*rollback=*/false, /*confirm=*/true, Audited(what, task)},
      [this, request] { return applier_->Confirm(request); }, done);
}

void ApplyTasks::Start(const Asked& asked, Change change, const Done& done) {
  auto work = [this, asked, change = std::move(change), done] {
    ApplyResult result = Run(asked, change);
    {
      absl::MutexLock lock(&mutex_);
      at_work_.reset();
      if (!asked.confirm) RememberLocked(result);
    }
    done(std::move(result));
  };
  absl::Status refused;
  {
    absl::MutexLock lock(&mutex_);
    if (stopping_) {
      refused = UnavailableWords("msg-step-stopping");
    } else if (at_work_) {
      refused = UnavailableWords("msg-step-busy");
    } else if (!thread_.TryRun(std::move(work))) {
      // Cannot happen: only a task whose `done` has begun may still run.
      refused = UnavailableWords("msg-step-too-many");
    } else {
      at_work_ = asked.apply_id;
      return;
    }
  }
  log_->Warning(asked.what, " refused: ", host_, ": ", refused.message());
  audit_->Refuse(asked.audited, refused);
  ApplyResult result = ResultFor(asked, refused);
  {
    absl::MutexLock lock(&mutex_);
    if (!asked.confirm) RememberLocked(result);
  }
  done(std::move(result));
}

ApplyResult ApplyTasks::Run(const Asked& asked, const Change& change) {
  log_->Notice(asked.what, " begins");
  record_->BeginChange();
  bool recovered;
  {
    absl::MutexLock lock(&mutex_);
    recovered = recovered_;
  }
  bool undone = false;
  const absl::Status cleared =
      recovered ? absl::OkStatus() : TryRecover(&undone);
  // An id that a controller invents only causes one line a minute.
  const absl::Status known = cleared.ok() && (asked.rollback || asked.confirm)
                                 ? applier_->CheckJournal(asked.apply_id)
                                 : cleared;
  const absl::Status ready = known.ok() ? audit_->Begin(asked.audited) : known;
  const absl::StatusOr<ApplyResult> changed =
      ready.ok() ? change() : absl::StatusOr<ApplyResult>(ready);
  ApplyResult result =
      changed.ok() ? *changed : ResultFor(asked, changed.status());
  result.set_of_rollback(asked.rollback);
  result.set_no_journal(cleared.ok() && asked.rollback &&
                        absl::IsNotFound(changed.status()));
  BoundResult(&result);
  if (ready.ok()) {
    audit_->End(asked.audited, Summary(result));
  } else {
    audit_->Refuse(asked.audited, ready);
  }
  const bool is_as_wished = result.outcome() == ApplyResult::APPLIED ||
                            result.outcome() == ApplyResult::NOTHING_TO_DO ||
                            result.outcome() == ApplyResult::ROLLED_BACK;
  log_->Write(is_as_wished ? LogLevel::kNotice : LogLevel::kWarning,
              absl::StrCat(asked.what, " ended: ", Summary(result)));
  ReadPast(cleared, undone);
  if (undone) TellUndone();
  return result;
}

ApplyResult ApplyTasks::ResultFor(const Asked& asked,
                                  const absl::Status& refused) const {
  ApplyResult result;
  result.set_apply_id(asked.apply_id);
  result.set_of_rollback(asked.rollback);
  result.set_host(host_);
  result.set_outcome(ApplyResult::REFUSED);
  *result.mutable_error_words() = MessageWords(refused);
  CleanTexts(&result);
  return result;
}

void ApplyTasks::ReadPast(const absl::Status& recovered, bool undone) {
  const absl::StatusOr<std::vector<JournalState>> states =
      applier_->ListApplies();
  std::optional<Waiting> waits;
  for (size_t i = 0; states.ok() && i < states->size(); ++i) {
    const JournalState& state = (*states)[i];
    if (!state.waits()) continue;
    waits = Waiting{state.begin.apply_id(),
                    applier_->SinceBoot() + applier_->TimeLeftOf(state)};
  }
  {
    absl::MutexLock lock(&mutex_);
    waits_ = waits;
    const absl::Duration left = TimeLeftLocked();
    if (!recovered.ok() && recovered.message() != unfinished_) {
      log_->Error("nothing is applied on this host: ", recovered.message());
    }
    unfinished_ = std::string(recovered.message());
    recovered_ = recovered.ok() && states.ok() && left > absl::ZeroDuration() &&
                 absl::c_none_of(*states, [](const JournalState& s) {
                   return s.unfinished();
                 });
    // The timer may be set for an old deadline.
    if (scheduler_ != nullptr) scheduler_->Cancel(std::exchange(timer_, 0));
    if (!recovered_) {
      // Also retries for an apply that became due meanwhile, or was unreadable.
      const bool unclosed = recovered.ok() && undone;
      SetTimerLocked(unclosed ? kUnclosedRetry : kUndoRetry);
    } else if (waits_.has_value()) {
      SetTimerLocked(std::min(left, kDeadlineRound));
    }
  }
  record_->EndChange(states, recovered.ok() ? FindingValue()
                                            : PrintableWords(Listed(
                                                  MessageLines(recovered), 8)));
  if (!states.ok()) return;
  std::vector<ApplyResult> ended;
  std::vector<std::string> ids;
  for (const JournalState& state : *states) {
    ids.push_back(state.begin.apply_id());
    // A result from before a pending undo is not the current one.
    if (state.end.outcome() == ApplyResult::OUTCOME_UNSPECIFIED ||
        state.unfinished()) {
      continue;
    }
    if (ended.size() == kMaxPastApplies) ended.erase(ended.begin());
    ended.push_back(state.end);
    ended.back().set_apply_id(state.begin.apply_id());
    ended.back().set_host(host_);
  }
  for (ApplyResult& result : ended) BoundResult(&result);
  absl::MutexLock lock(&mutex_);
  journaled_ = std::move(ended);
  journal_ids_ = std::move(ids);
}

void ApplyTasks::RememberLocked(const ApplyResult& result) {
  DropIf(&recent_, [&result](const ApplyResult& each) {
    return each.apply_id() == result.apply_id();
  });
  recent_.push_back(result);
  if (recent_.size() > kMaxRecent) recent_.erase(recent_.begin());
}

PastApplies ApplyTasks::Past() const {
  absl::MutexLock lock(&mutex_);
  std::vector<const ApplyResult*> sent;
  for (const ApplyResult& result : journaled_) sent.push_back(&result);
  for (const ApplyResult& result : recent_) {
    const auto says_it = [&result](const ApplyResult& each) {
      return each.apply_id() == result.apply_id() &&
             each.outcome() == result.outcome();
    };
    if (absl::c_none_of(journaled_, says_it)) sent.push_back(&result);
  }
  // A full disk keeps the journal of an apply that is rolled back already.
  const std::string waits = waits_.has_value() ? waits_->apply_id : "";
  const auto last = std::find_if(
      sent.rbegin(), sent.rend(), [&waits](const ApplyResult* each) {
        return !waits.empty() && each->apply_id() == waits &&
               each->outcome() != ApplyResult::REFUSED;
      });
  const ApplyResult* const waiting =
      last != sent.rend() && (*last)->outcome() == ApplyResult::APPLIED
          ? *last
          : nullptr;
  // It is always sent, however large the others are.
  absl::c_stable_partition(
      sent, [&](const ApplyResult* each) { return each != waiting; });
  std::vector<const ApplyResult*> newest;
  size_t bytes = 0;
  for (auto result = sent.rbegin(); result != sent.rend(); ++result) {
    if ((*result)->apply_id() == at_work_) continue;
    bytes += (*result)->ByteSizeLong();
    if (newest.size() == kMaxPastApplies || bytes > kMaxResultBytes) break;
    newest.push_back(*result);
  }
  PastApplies past;
  for (auto result = newest.rbegin(); result != newest.rend(); ++result) {
    ApplyResult* const added = past.add_results();
    *added = **result;
    // The journal lacks this; 0 would mean a permanent apply.
    if (*result == waiting) {
      added->set_reverts_in_ms(std::max<uint32_t>(1, ToMs(TimeLeftLocked())));
    }
  }
  past.set_at_work(at_work_.value_or(""));
  past.set_knows_all(recovered_ && journal_ids_.size() <= kMaxJournalIds);
  if (!past.knows_all()) return past;
  past.mutable_journals()->Add(journal_ids_.begin(), journal_ids_.end());
  return past;
}

}  // namespace clusterd
