#include "daemon/agent/apply/outcome_text.h"

#include "daemon/host/quoted_text.h"

namespace clusterd {

std::string OutcomeText(absl::string_view text) {
  return PrintableText(text, kMaxOutcomeTextBytes);
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
