#include "daemon/agent/apply/later_applies.h"

#include "absl/strings/str_cat.h"
#include "config/plan/applied_drift.h"

namespace clusterd {

std::string LaterAppliesText(const JournalState& state,
                             const std::vector<JournalState>& states) {
  std::vector<EndedApply> applies;
  for (const JournalState& each : states) {
    applies.push_back({each.begin, each.end});
  }
  const std::vector<LaterClaim> later =
      FindLaterClaims({state.begin, state.end}, applies);
  std::string text;
  for (auto claim = later.rbegin(); claim != later.rend(); ++claim) {
    absl::StrAppend(&text, text.empty() ? "" : ", ", "apply ", claim->apply_id,
                    " of ", claim->actor, " set ", claim->target, " later");
  }
  return text;
}

}  // namespace clusterd
