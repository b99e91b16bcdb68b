#include "daemon/agent/apply/kept_journals.h"

#include <algorithm>

namespace clusterd {

std::vector<std::string> JournalsToDrop(const std::vector<JournalState>& states,
                                        const KeptJournals& kept) {
  size_t in_effect = 0;
  size_t taken_back = 0;
  std::vector<std::string> dropped;
  for (auto state = states.rbegin(); state != states.rend(); ++state) {
    if (state->unfinished()) continue;
    const bool goes = state->in_effect() ? ++in_effect > kept.in_effect
                                         : ++taken_back > kept.taken_back;
    if (goes) dropped.push_back(state->begin.apply_id());
  }
  std::reverse(dropped.begin(), dropped.end());
  return dropped;
}

}  // namespace clusterd
