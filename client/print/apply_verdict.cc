#include "client/print/apply_verdict.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace clusterd {
namespace {

constexpr uint32_t kSchemaVersion = 1;

}  // namespace

State HostEnd(ApplyResult::Outcome outcome, bool rollback) {
  switch (outcome) {
    case ApplyResult::APPLIED:
      return rollback ? FAIL : PASS;
    case ApplyResult::ROLLED_BACK:
      return rollback ? PASS : SKIPPED;
    case ApplyResult::NOTHING_TO_DO:
      return PASS;
    case ApplyResult::NOT_STARTED:
      return SKIPPED;
    case ApplyResult::UNDONE:
    case ApplyResult::UNDONE_WITH_RESIDUES:
    case ApplyResult::ROLLED_BACK_WITH_RESIDUES:
    case ApplyResult::REFUSED:
      return FAIL;
    default:
      return UNKNOWN;
  }
}

std::string OutcomeWord(ApplyResult::Outcome outcome) {
  switch (outcome) {
    case ApplyResult::OUTCOME_UNSPECIFIED:
      return "no answer yet";
    case ApplyResult::APPLIED:
      return "applied";
    case ApplyResult::NOTHING_TO_DO:
      return "nothing to do";
    case ApplyResult::UNDONE:
      return "undone";
    case ApplyResult::ROLLED_BACK:
      return "rolled back";
    case ApplyResult::UNDONE_WITH_RESIDUES:
      return "undone, with residues";
    case ApplyResult::ROLLED_BACK_WITH_RESIDUES:
      return "rolled back, with residues";
    case ApplyResult::REFUSED:
      return "refused";
    case ApplyResult::NOT_STARTED:
      return "not started";
    case ApplyResult::LOST:
      return "lost";
    default:
      return absl::StrCat("outcome ", static_cast<int>(outcome));
  }
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
  switch (report.outcome()) {
    case ApplyReport::RUNNING:
      return "RUNNING";
    case ApplyReport::INTERRUPTED:
      return "INTERRUPTED";
    case ApplyReport::STOPPED:
      return "STOPPED";
    case ApplyReport::SUCCEEDED:
      switch (SupportedVerdict(report)) {
        case PASS:
          return "SUCCEEDED";
        case FAIL:
          return "STOPPED";
        default:
          return "NO COMPLETE ANSWER";
      }
    default:
      return "NO COMPLETE ANSWER";
  }
}

bool MayHold(ApplyResult::Outcome outcome) {
  return outcome == ApplyResult::APPLIED || outcome == ApplyResult::LOST ||
         outcome == ApplyResult::OUTCOME_UNSPECIFIED ||
         outcome == ApplyResult::UNDONE_WITH_RESIDUES ||
         outcome == ApplyResult::ROLLED_BACK_WITH_RESIDUES;
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
