// Applies that block the next one, and their automatic end: an interrupted
// apply, or one that waits to be confirmed.
#include <algorithm>

#include "config/words/subject_text.h"
#include "daemon/agent/apply/applier.h"
#include "daemon/agent/apply/journal_contents.h"

namespace clusterd {

absl::Status Applier::CheckConfirmWithin(absl::Duration within) {
  if (within == absl::ZeroDuration()) return absl::OkStatus();
  if (within < absl::ZeroDuration() || within > kMaxConfirmWithin) {
    return InvalidWords("msg-step-confirm-within", absl::FormatDuration(within),
                        absl::FormatDuration(kMaxConfirmWithin));
  }
  if (!ReadHostTime(access_.files, access_.clock).boot_id.empty()) {
    return absl::OkStatus();
  }
  return PreconditionWords("msg-step-boot-not-known");
}

absl::StatusOr<uint64_t> Applier::CheckNothingUnfinished(
    const std::string& ended) {
  ASSIGN_OR_RETURN(const auto journals, folder_.Read());
  uint64_t last = 0;
  for (const JournalFolder::Found& each : journals) {
    if (!each.state.ok()) return each.state.status();
    const JournalState& state = *each.state;
    last = std::max<uint64_t>(last, state.begin.sequence());
    if (state.waits() && each.apply_id != ended) {
      return PreconditionWords("msg-step-other-waits", each.apply_id,
                               ActorName(state.begin.actor()),
                               absl::FormatDuration(absl::Floor(
                                   TimeLeftOf(state), absl::Seconds(1))));
    }
    if (!state.unfinished()) continue;
    return PreconditionWords("msg-step-other-unfinished", each.apply_id,
                             options_.state_folder);
  }
  return last + 1;
}

absl::Duration Applier::TimeLeftOf(const JournalState& state) {
  return TimeLeft(*state.deadline, ReadHostTime(access_.files, access_.clock));
}

void Applier::SetReverts(const JournalState& state, ApplyResult* result) {
  if (!state.waits()) return;
  // 0 would mean a permanent apply.
  const int64_t left = absl::ToInt64Milliseconds(TimeLeftOf(state));
  result->set_reverts_in_ms(static_cast<uint32_t>(std::max<int64_t>(left, 1)));
}

absl::StatusOr<ApplyResult> Applier::Confirm(const KeepRequest& request) {
  RETURN_IF_ERROR(CheckApplyId(request.apply_id));
  ASSIGN_OR_RETURN(const auto lock, TakeLock());
  ASSIGN_OR_RETURN(auto journal, OpenJournal(request.apply_id));
  const JournalState state = SummariseJournal(journal->entries());
  const bool extends = request.extend_by != absl::ZeroDuration();
  ApplyResult result = NewResult(request.apply_id);
  result.set_outcome(ApplyResult::APPLIED);
  if (state.phase == HOST_CONFIRMED && !extends) return result;
  const HostTime now = ReadHostTime(access_.files, access_.clock);
  const absl::Duration left =
      state.waits() ? TimeLeft(*state.deadline, now) : absl::ZeroDuration();
  if (left == absl::ZeroDuration()) {
    return PreconditionWords(
        "msg-step-does-not-wait", request.apply_id,
        Worded(state.waits()                   ? "plan-say-deadline-passed"
               : !state.in_effect()            ? "plan-say-was-undone"
               : state.phase == HOST_CONFIRMED ? "plan-say-was-confirmed"
                                               : "plan-say-stays"));
  }
  JournalEntry entry;
  if (extends && request.extend_by < kMinExtend) {
    return InvalidWords("msg-step-extend-by",
                        absl::FormatDuration(request.extend_by),
                        absl::FormatDuration(kMinExtend));
  }
  if (extends) {
    const absl::Duration within =
        absl::Milliseconds(state.deadline->within_ms()) + request.extend_by;
    RETURN_IF_ERROR(CheckConfirmWithin(within));
    *entry.mutable_deadline() =
        MakeDeadline(now, left + request.extend_by, within, request.actor);
  } else {
    entry.mutable_confirm()->set_actor(request.actor);
    entry.mutable_confirm()->set_at_ms(absl::ToUnixMillis(now.wall));
  }
  const absl::Status written = journal->Append(entry);
  if (!written.ok()) {
    return WithWords(written,
                     Worded("msg-step-not-in-journal", MessageWords(written)));
  }
  SetReverts(SummariseJournal(journal->entries()), &result);
  return result;
}

bool Applier::IsOverdue(const std::string& apply_id,
                        const JournalState& state) {
  const HostTime now = ReadHostTime(access_.files, access_.clock);
  const absl::Duration left = TimeLeft(*state.deadline, now);
  if (left == absl::ZeroDuration()) return true;
  if (IsOfThisBoot(*state.deadline, now)) return false;
  const auto journal = Journal::Open(access_.files, folder_.PathOf(apply_id));
  JournalEntry entry;
  *entry.mutable_deadline() =
      MakeDeadline(now, left, absl::Milliseconds(state.deadline->within_ms()),
                   state.deadline->actor());
  return !journal.ok() || !(*journal)->Append(entry).ok();
}

absl::StatusOr<std::vector<ApplyResult>> Applier::Recover(
    const UndoWatch& watch, bool also_waiting) {
  ASSIGN_OR_RETURN(const auto lock, TakeLock());
  ASSIGN_OR_RETURN(const auto journals, folder_.Read());
  std::vector<ApplyResult> results;
  // Damaged journals take precedence: their changes are unknown.
  absl::Status damaged;
  absl::Status unfinished;
  for (const JournalFolder::Found& each : journals) {
    if (!each.state.ok()) {
      damaged = each.state.status();
      continue;
    }
    if (each.state->phase == HOST_WAITING) {
      damaged.Update(access_.files->Remove(folder_.PathOf(each.apply_id)));
    }
    const bool reverts =
        each.state->waits() &&
        (also_waiting || IsOverdue(each.apply_id, *each.state));
    if (!each.state->unfinished() && !reverts) continue;
    auto result = UndoUnfinished(each.apply_id, *each.state, watch);
    if (result.ok()) {
      results.push_back(*std::move(result));
    } else {
      unfinished.Update(result.status());
    }
  }
  if (!damaged.ok() && !unfinished.ok()) {
    return WithWords(damaged, Worded("about", MessageWords(damaged),
                                     MessageWords(unfinished)));
  }
  RETURN_IF_ERROR(damaged);
  RETURN_IF_ERROR(unfinished);
  return results;
}

}  // namespace clusterd
