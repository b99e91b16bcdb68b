#include "daemon/agent/apply/outcome_text.h"

#include "absl/strings/str_cat.h"
#include "config/words/quoted_text.h"

namespace clusterd {

std::string OutcomeText(absl::string_view text) {
  return PrintableText(text, kMaxOutcomeTextBytes);
}

absl::Status InFront(absl::string_view what, const absl::Status& status) {
  return absl::Status(status.code(),
                      absl::StrCat(what, ": ", status.message()));
}

void CleanTexts(StepOutcome* outcome) {
  outcome->set_detail(OutcomeText(outcome->detail()));
}

void CleanTexts(ApplyResult* result) {
  result->set_error(OutcomeText(result->error()));
  for (std::string& text : *result->mutable_residues()) {
    text = OutcomeText(text);
  }
  for (std::string& text : *result->mutable_forced()) text = OutcomeText(text);
  for (StepOutcome& step : *result->mutable_steps()) CleanTexts(&step);
}

}  // namespace clusterd
