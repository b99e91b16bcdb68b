#include "config/change/change_record.h"

#include <algorithm>

#include "absl/algorithm/container.h"
#include "config/words/subject_text.h"

namespace clusterd {
namespace {

// The error of a running host.
constexpr char kNoAnswerYet[] = "hub-no-answer-yet";
// These notes are valid until the last host is rolled back.
constexpr char kKeptIt[] = "hub-hosts-kept-it";
constexpr char kCancelledKeptIt[] = "hub-cancelled-kept-it";
constexpr char kCameBack[] = "hub-came-back";

FindingValue NameList(const std::vector<std::string>& names) {
  return Listed(names, 20);
}

FindingValue WhyWaiting(const ApplyReport& report) {
  // Also if the controller stopped: no further wave would have begun.
  if (report.has_cancelled() && report.outcome() != ApplyReport::STOPPED) {
    return Worded("hub-cancelled-after-wave",
                  ActorName(report.cancelled().actor()),
                  report.cancelled().wave());
  }
  return Worded(report.outcome() == ApplyReport::INTERRUPTED
                    ? "hub-controller-ended-before-wave"
                    : "hub-earlier-wave-failed");
}

bool AnyHostIn(const ApplyReport& report,
               std::initializer_list<HostState> states) {
  return absl::c_any_of(report.hosts(), [states](const ApplyResult& host) {
    return absl::c_linear_search(states, host.state());
  });
}

bool HasApplied(const ApplyReport& report) {
  return FirstWith(report.hosts(), &ApplyResult::outcome,
                   ApplyResult::APPLIED) != nullptr;
}

bool IsTakenBack(const ApplyResult& result) {
  return EventOf(/*rollback=*/false, result) == HostEvent::kTakenBack;
}

void MoveSteps(ApplyResult* from, ApplyResult* to) {
  to->mutable_steps()->Swap(from->mutable_steps());
  to->mutable_forced()->Swap(from->mutable_forced());
  to->clear_forced_words();
  if (from->has_forced_words()) {
    to->mutable_forced_words()->Swap(from->mutable_forced_words());
  }
  to->set_elapsed_ms(from->elapsed_ms());
}

// A rollback without the journal has left the settings as they are, unless the
// apply may not have begun there.
void ExplainNoJournal(const ApplyReport& report, bool was_lost, bool has_plan,
                      ApplyResult* result) {
  result->set_outcome(was_lost ? ApplyResult::NOTHING_TO_DO
                               : ApplyResult::REFUSED);
  result->set_of_rollback(true);
  if (was_lost) return;
  *result->mutable_error_words() =
      Worded("hub-settings-stay", ErrorWords(*result),
             has_plan ? Worded("hub-old-values-in", report.plan_id())
                      : Worded("hub-old-values-gone"));
}

}  // namespace

bool IsOpen(const ApplyReport& report) {
  return AnyHostIn(report, kOpenStates) ||
         report.confirmation().state() == Confirmation::PENDING;
}

FindingValue ChangeWords(const ApplyReport& head) {
  return Worded(head.rollback() ? "hub-rollback-of" : "hub-apply-of",
                head.run_id(), ActorName(head.actor()));
}

ChangeRecord::ChangeRecord(ApplyReport report, bool has_plan)
    : report_(std::move(report)), has_plan_(has_plan) {
  for (size_t i = 0; i < static_cast<size_t>(report_.hosts_size()); ++i) {
    index_of_[host(i).host()] = i;
    Count(host(i), 1);
  }
}

std::optional<size_t> ChangeRecord::IndexOf(const std::string& host) const {
  const auto found = index_of_.find(host);
  if (found == index_of_.end()) return std::nullopt;
  return found->second;
}

bool ChangeRecord::IsIn(const std::string& host,
                        std::initializer_list<HostState> states) const {
  const std::optional<size_t> index = IndexOf(host);
  return index.has_value() && absl::c_linear_search(states, state(*index));
}

std::vector<std::string> ChangeRecord::HostsIn(
    std::initializer_list<HostState> states) const {
  std::vector<std::string> names;
  for (const ApplyResult& host : report_.hosts()) {
    if (absl::c_linear_search(states, host.state())) {
      names.push_back(host.host());
    }
  }
  return names;
}

bool ChangeRecord::AnyIn(std::initializer_list<HostState> states) const {
  return AnyHostIn(report_, states);
}

void ChangeRecord::Count(const ApplyResult& host, int by) {
  if (host.state() == HOST_WAITING || host.state() == HOST_RUNNING) return;
  const bool good = HostEnd(host.outcome(), report_.rollback()) == PASS;
  (good ? done_ : failed_) += static_cast<uint32_t>(by);
}

bool ChangeRecord::Move(size_t index, HostEvent event) {
  const HostState next = NextState(state(index), event);
  if (next == HOST_STATE_UNSPECIFIED) return false;
  ApplyResult* const host = mutable_host(index);
  Count(*host, -1);
  host->set_state(next);
  if (next == HOST_RUNNING) {
    host->set_outcome(ApplyResult::RUNNING);
    *host->mutable_error_words() = Worded(kNoAnswerYet);
  } else if (next == HOST_WAITING) {
    host->set_outcome(ApplyResult::NOT_STARTED);
    host->clear_error_words();
  } else if (next == HOST_LOST) {
    host->set_outcome(ApplyResult::LOST);
  }
  Count(*host, 1);
  return true;
}

bool ChangeRecord::MoveAll(HostEvent event) {
  bool any = false;
  for (size_t i = 0; i < static_cast<size_t>(report_.hosts_size()); ++i) {
    any |= Move(i, event);
  }
  return any;
}

void ChangeRecord::End(size_t index, ApplyResult result) {
  // A rollback without the journal is known to have changed nothing.
  const bool is_lost = result.outcome() == ApplyResult::LOST &&
                       !(report_.rollback() && result.no_journal());
  if (is_lost || result.outcome() == ApplyResult::NOT_STARTED) {
    Put(index,
        NextState(state(index),
                  is_lost ? HostEvent::kGivenUp : HostEvent::kRefused),
        std::move(result));
  } else {
    Take(index, std::move(result));
  }
}

bool ChangeRecord::Take(size_t index, ApplyResult result) {
  const ApplyResult& known = host(index);
  if (report_.rollback() && result.no_journal()) {
    ExplainNoJournal(report_, known.was_lost(), has_plan_, &result);
  }
  if (!report_.has_confirmation()) result.clear_reverts_in_ms();
  const std::optional<HostEvent> event = EventOf(report_.rollback(), result);
  if (!event.has_value()) return false;
  const HostState next = NextState(known.state(), *event);
  if (next == HOST_STATE_UNSPECIFIED) return AddSteps(index, &result);
  const bool is_again = next == known.state() && TakenBack(result.outcome()) <=
                                                     TakenBack(known.outcome());
  if (is_again) return AddSteps(index, &result);
  Put(index, next, std::move(result));
  return true;
}

bool ChangeRecord::AddSteps(size_t index, ApplyResult* result) {
  ApplyResult* const host = mutable_host(index);
  const bool is_rollback = report_.rollback() || IsTakenBack(*result);
  if (host->state() < HOST_APPLIED || is_rollback || !host->steps().empty() ||
      result->steps().empty()) {
    return false;
  }
  MoveSteps(result, host);
  return true;
}

void ChangeRecord::Put(size_t index, HostState state, ApplyResult result) {
  ApplyResult* const host = mutable_host(index);
  Count(*host, -1);
  // Steps are those of the change itself, not those of its undo or rollback.
  if (!host->steps().empty()) {
    MoveSteps(host, &result);
  } else if (!report_.rollback() && IsTakenBack(result)) {
    ApplyResult dropped;
    MoveSteps(&dropped, &result);
  }
  // Only the host's own drift needs the facts; those of 10,000 hosts would be
  // most of the report. The report itself says if it is a rollback.
  result.clear_facts_after();
  result.clear_of_rollback();
  result.set_apply_id(report_.apply_id());
  result.set_host(host->host());
  result.set_state(state);
  result.set_was_lost(host->was_lost());
  result.set_came_back(host->came_back());
  if (state != HOST_CONFIRM_PENDING) result.clear_reverts_in_ms();
  *host = std::move(result);
  Count(*host, 1);
}

bool HasEnded(const std::string& apply_id, const PastApplies& past) {
  return past.knows_all() && past.at_work() != apply_id;
}

bool HasJournal(const std::string& apply_id, const PastApplies& past) {
  return absl::c_linear_search(past.journals(), apply_id);
}

bool ChangeRecord::Merge(const std::string& name, const PastApplies& past) {
  const std::optional<size_t> index = IndexOf(name);
  if (!index.has_value()) return false;
  const bool was_lost = host(*index).outcome() == ApplyResult::LOST;
  bool is_news = false;
  for (const ApplyResult& result : past.results()) {
    if (result.apply_id() != report_.apply_id()) continue;
    is_news |= Take(*index, result);
  }
  if (is_news) {
    if (was_lost) mutable_host(*index)->set_came_back(true);
    NoteCameBack();
  }
  if (state(*index) == HOST_LOST && HasEnded(report_.apply_id(), past) &&
      !HasJournal(report_.apply_id(), past)) {
    is_news |= Move(*index, HostEvent::kNoneThere);
  }
  if (report_.confirmation().state() == Confirmation::REVERTING) {
    is_news |= Move(*index, HostEvent::kDue);
  }
  if (is_news) UpdatePending();
  return is_news;
}

void ChangeRecord::NoteCameBack() {
  std::vector<std::string> names;
  for (const ApplyResult& host : report_.hosts()) {
    if (host.came_back()) names.push_back(host.host());
  }
  if (names.empty()) return;
  FindingValue* const note =
      FirstWith(*report_.mutable_notes_words()->mutable_values(),
                &FindingValue::words, kCameBack);
  if (note == nullptr) {
    AddNote(Worded(kCameBack, NameList(names)), &report_);
  } else {
    *note = Worded(kCameBack, NameList(names));
  }
  const bool all_well = done_ == static_cast<uint32_t>(report_.hosts_size());
  report_.set_outcome(all_well ? ApplyReport::SUCCEEDED : report_.ended());
}

bool ChangeRecord::TakeBack(const ApplyReport& rollback) {
  bool any = false;
  for (const ApplyResult& host : rollback.hosts()) {
    const std::optional<size_t> index = IndexOf(host.host());
    if (!index.has_value() || !IsTakenBack(host)) continue;
    any = true;
    if (Take(*index, host)) continue;
    // A further attempt has removed some of what an earlier one left.
    ApplyResult* const known = mutable_host(*index);
    if (known->outcome() != host.outcome()) continue;
    *known->mutable_residues() = host.residues();
    *known->mutable_residues_words() = host.residues_words();
  }
  if (!any) return false;
  AddNote(Worded("hub-rolled-back-by", rollback.run_id()), &report_);
  if (!AnyIn(kMayRevert) &&
      report_.confirmation().state() == Confirmation::REVERTING) {
    report_.mutable_confirmation()->set_state(Confirmation::NOT_NEEDED);
  }
  if (!HasApplied(report_)) {
    DropIf(report_.mutable_notes_words()->mutable_values(),
           [](const FindingValue& note) {
             return note.words() == kKeptIt || note.words() == kCancelledKeptIt;
           });
  }
  UpdatePending();
  return true;
}

void ChangeRecord::NoteDeadline(size_t index, absl::Time asked,
                                absl::Time now) {
  if (state(index) != HOST_CONFIRM_PENDING) return;
  Confirmation* const confirm = report_.mutable_confirmation();
  const int64_t most = std::max(1u, confirm->within_ms());
  const int64_t least = std::clamp<int64_t>(
      absl::ToInt64Milliseconds(asked - now - kRevertGrace) + most, 1, most);
  ApplyResult* const host = mutable_host(index);
  host->set_reverts_in_ms(static_cast<uint32_t>(
      std::clamp<int64_t>(host->reverts_in_ms(), least, most)));
  const int64_t at = absl::ToUnixMillis(now) + host->reverts_in_ms();
  if (confirm->deadline_ms() == 0 || at < confirm->deadline_ms()) {
    confirm->set_deadline_ms(at);
  }
}

int ChangeRecord::ExplainWaiting() {
  int waiting = 0;
  for (ApplyResult& host : *report_.mutable_hosts()) {
    if (host.state() != HOST_WAITING) continue;
    ++waiting;
    *host.mutable_error_words() = WhyWaiting(report_);
  }
  return waiting;
}

void ChangeRecord::CloseConfirmation(absl::Time now) {
  if (!report_.has_confirmation()) return;
  Confirmation* const confirm = report_.mutable_confirmation();
  const bool any = AnyIn(kOpenStates);
  confirm->set_state(any ? Confirmation::PENDING : Confirmation::NOT_NEEDED);
  if (!any) return;
  // It is unknown when a lost host began, so count from now.
  if (confirm->deadline_ms() == 0) {
    confirm->set_deadline_ms(absl::ToUnixMillis(now) + confirm->within_ms());
  }
  if (report_.outcome() != ApplyReport::SUCCEEDED) {
    confirm->set_automatic(false);
  }
}

void ChangeRecord::Close(ApplyReport::Outcome outcome, size_t wave,
                         const Waves& waves, absl::Time now) {
  MoveAll(HostEvent::kGivenUp);
  report_.set_outcome(outcome);
  report_.set_ended(outcome);
  const int waiting = ExplainWaiting();
  if (waiting > 0) {
    AddNote(Worded("hub-ended-in-wave", waiting, wave + 1, waves.count()),
            &report_);
  }
  if (report_.has_confirmation()) return CloseConfirmation(now);
  if (report_.rollback() || outcome == ApplyReport::SUCCEEDED ||
      !HasApplied(report_)) {
    return;
  }
  AddNote(Worded(outcome == ApplyReport::CANCELLED ? kCancelledKeptIt : kKeptIt,
                 report_.run_id()),
          &report_);
}

void ChangeRecord::Interrupt(absl::Time now) {
  MoveAll(HostEvent::kGivenUp);
  report_.set_outcome(ApplyReport::INTERRUPTED);
  report_.set_ended(ApplyReport::INTERRUPTED);
  AddNote(Worded("hub-controller-ended"), &report_);
  ExplainWaiting();
  if (!report_.rollback()) CloseConfirmation(now);
}

bool ChangeRecord::UpdatePending() {
  if (report_.confirmation().state() != Confirmation::CONFIRMED) return false;
  const std::vector<std::string> pending = HostsIn(kOpenStates);
  auto* const known = report_.mutable_confirmation()->mutable_pending();
  if (absl::c_equal(*known, pending)) return false;
  known->Assign(pending.begin(), pending.end());
  return true;
}

}  // namespace clusterd
