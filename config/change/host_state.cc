#include "config/change/host_state.h"

#include "absl/algorithm/container.h"

namespace clusterd {
namespace {

struct OutcomeRow {
  ApplyResult::Outcome outcome;
  const char* words;
  State apply;     // Verdict on such an apply,
  State rollback;  // and on a rollback.
  bool may_hold;
  int taken_back;
};

constexpr OutcomeRow kOutcomes[] = {
    {ApplyResult::OUTCOME_UNSPECIFIED, "apply-awaited", UNKNOWN, UNKNOWN, true,
     0},
    {ApplyResult::APPLIED, "apply-applied", PASS, FAIL, true, 0},
    {ApplyResult::NOTHING_TO_DO, "apply-nothing-to-do", PASS, PASS, false, 3},
    {ApplyResult::UNDONE, "apply-undone", FAIL, FAIL, false, 4},
    // A later rollback turns APPLIED into this.
    {ApplyResult::ROLLED_BACK, "apply-rolled-back", SKIPPED, PASS, false, 5},
    {ApplyResult::UNDONE_WITH_RESIDUES, "apply-undone-residues", FAIL, FAIL,
     true, 1},
    {ApplyResult::ROLLED_BACK_WITH_RESIDUES, "apply-rolled-back-residues", FAIL,
     FAIL, true, 2},
    {ApplyResult::REFUSED, "apply-refused", FAIL, FAIL, false, 0},
    {ApplyResult::NOT_STARTED, "apply-not-started", SKIPPED, SKIPPED, false, 0},
    {ApplyResult::LOST, "apply-lost", UNKNOWN, UNKNOWN, true, 0},
    {ApplyResult::RUNNING, "apply-running", UNKNOWN, UNKNOWN, true, 0},
};

OutcomeRow RowOf(ApplyResult::Outcome outcome) {
  for (const OutcomeRow& row : kOutcomes) {
    if (row.outcome == outcome) return row;
  }
  return {outcome, nullptr, UNKNOWN, UNKNOWN, false, 0};
}

}  // namespace

HostState NextState(HostState from, HostEvent event) {
  if (from == HOST_STATE_UNSPECIFIED) return from;
  for (const HostTransition& each : kHostTransitions) {
    if (each.event == event && absl::c_linear_search(each.from, from)) {
      return each.to;
    }
  }
  return HOST_STATE_UNSPECIFIED;
}

State HostEnd(ApplyResult::Outcome outcome, bool rollback) {
  const OutcomeRow row = RowOf(outcome);
  return rollback ? row.rollback : row.apply;
}

bool MayHold(ApplyResult::Outcome outcome) { return RowOf(outcome).may_hold; }

int TakenBack(ApplyResult::Outcome outcome) {
  return RowOf(outcome).taken_back;
}

const char* OutcomeWordsName(ApplyResult::Outcome outcome) {
  return RowOf(outcome).words;
}

FindingValue OutcomeWords(ApplyResult::Outcome outcome) {
  const char* const words = OutcomeWordsName(outcome);
  return Worded(outcome == ApplyResult::OUTCOME_UNSPECIFIED || words == nullptr
                    ? "hub-without-result"
                    : words);
}

std::optional<HostEvent> EventOf(bool rollback, const ApplyResult& result) {
  switch (result.outcome()) {
    case ApplyResult::ROLLED_BACK:
    case ApplyResult::ROLLED_BACK_WITH_RESIDUES:
      return HostEvent::kTakenBack;
    case ApplyResult::NOTHING_TO_DO:
      if (rollback != result.of_rollback()) return std::nullopt;
      return rollback ? HostEvent::kTakenBack : HostEvent::kApplied;
    case ApplyResult::REFUSED:
      // A refused rollback leaves the apply in place.
      if (!rollback && result.of_rollback()) return std::nullopt;
      return HostEvent::kRefused;
    case ApplyResult::UNDONE:
    case ApplyResult::UNDONE_WITH_RESIDUES:
      if (rollback) return std::nullopt;
      return HostEvent::kUndone;
    case ApplyResult::APPLIED:
      if (rollback) return std::nullopt;
      return result.reverts_in_ms() > 0 ? HostEvent::kHolds
                                        : HostEvent::kApplied;
    default:
      return std::nullopt;
  }
}

FindingValue ErrorWords(const ApplyResult& result) {
  return result.has_error_words() ? result.error_words()
                                  : ToFindingValue(result.error());
}

}  // namespace clusterd
