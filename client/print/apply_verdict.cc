#include "client/print/apply_verdict.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace clusterd {
namespace {

constexpr uint32_t kSchemaVersion = 1;

struct OutcomeRow {
  ApplyResult::Outcome outcome;
  const char* word;
  State apply;     // How good that is as the end of an apply,
  State rollback;  // and of a rollback.
  bool may_hold;   // The host may hold what the apply set.
};

constexpr OutcomeRow kOutcomes[] = {
    {ApplyResult::OUTCOME_UNSPECIFIED, "no answer yet", UNKNOWN, UNKNOWN, true},
    {ApplyResult::APPLIED, "applied", PASS, FAIL, true},
    {ApplyResult::NOTHING_TO_DO, "nothing to do", PASS, PASS, false},
    {ApplyResult::UNDONE, "undone", FAIL, FAIL, false},
    // A later rollback makes this of what was applied.
    {ApplyResult::ROLLED_BACK, "rolled back", SKIPPED, PASS, false},
    {ApplyResult::UNDONE_WITH_RESIDUES, "undone, with residues", FAIL, FAIL,
     true},
    {ApplyResult::ROLLED_BACK_WITH_RESIDUES, "rolled back, with residues", FAIL,
     FAIL, true},
    {ApplyResult::REFUSED, "refused", FAIL, FAIL, false},
    {ApplyResult::NOT_STARTED, "not started", SKIPPED, SKIPPED, false},
    {ApplyResult::LOST, "lost", UNKNOWN, UNKNOWN, true},
};

// nullptr for one of a newer controller.
const OutcomeRow* RowOf(ApplyResult::Outcome outcome) {
  for (const OutcomeRow& row : kOutcomes) {
    if (row.outcome == outcome) return &row;
  }
  return nullptr;
}

}  // namespace

State HostEnd(ApplyResult::Outcome outcome, bool rollback) {
  const OutcomeRow* row = RowOf(outcome);
  if (row == nullptr) return UNKNOWN;
  return rollback ? row->rollback : row->apply;
}

std::string OutcomeWord(ApplyResult::Outcome outcome) {
  const OutcomeRow* row = RowOf(outcome);
  return row != nullptr ? row->word
                        : absl::StrCat("outcome ", static_cast<int>(outcome));
}

std::string StepWord(StepOutcome::State state) {
  switch (state) {
    case StepOutcome::DONE:
      return "done";
    case StepOutcome::ALREADY_SO:
      return "was so already";
    case StepOutcome::FAILED:
      return "failed";
    case StepOutcome::UNDONE:
      return "undone";
    case StepOutcome::NOT_RUN:
      return "not run";
    default:
      return "outcome not known";
  }
}

State SupportedVerdict(const ApplyReport& report) {
  const auto any = [&report](State state) {
    return std::any_of(report.hosts().begin(), report.hosts().end(),
                       [&](const ApplyResult& host) {
                         return HostEnd(host.outcome(), report.rollback()) ==
                                state;
                       });
  };
  const bool left_out =
      std::any_of(report.hosts().begin(), report.hosts().end(),
                  [](const ApplyResult& host) {
                    return host.outcome() == ApplyResult::NOT_STARTED;
                  });
  if (any(FAIL)) return FAIL;
  if (any(UNKNOWN) || report.hosts().empty() ||
      report.schema_version() != kSchemaVersion) {
    return UNKNOWN;
  }
  if (report.outcome() == ApplyReport::STOPPED) return FAIL;
  if (report.outcome() != ApplyReport::SUCCEEDED) return UNKNOWN;
  return left_out ? FAIL : PASS;
}

std::string RunWord(const ApplyReport& report) {
  if (report.outcome() == ApplyReport::RUNNING) return "RUNNING";
  if (report.outcome() == ApplyReport::INTERRUPTED) return "INTERRUPTED";
  if (report.outcome() == ApplyReport::STOPPED) return "STOPPED";
  if (report.outcome() == ApplyReport::SUCCEEDED) {
    const State verdict = SupportedVerdict(report);
    if (verdict == PASS) return "SUCCEEDED";
    if (verdict == FAIL) return "STOPPED";
  }
  return "NO COMPLETE ANSWER";
}

bool MayHold(ApplyResult::Outcome outcome) {
  const OutcomeRow* row = RowOf(outcome);
  return row != nullptr && row->may_hold;
}

bool LeftChanges(const ApplyReport& report) {
  if (report.rollback() || report.outcome() == ApplyReport::RUNNING) {
    return false;
  }
  return std::any_of(report.hosts().begin(), report.hosts().end(),
                     [](const ApplyResult& host) {
                       return host.outcome() !=
                                  ApplyResult::OUTCOME_UNSPECIFIED &&
                              MayHold(host.outcome());
                     });
}

}  // namespace clusterd
