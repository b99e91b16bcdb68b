// Applies that came after one and set the same things: taking back the older
// one would pull the newer one's values away from under it.
#ifndef DAEMON_AGENT_APPLY_LATER_APPLIES_H_
#define DAEMON_AGENT_APPLY_LATER_APPLIES_H_

#include <string>
#include <vector>

#include "daemon/agent/apply/journal.h"

namespace clusterd {

// Names them, newest first, each with what it set and who asked for it; empty:
// there are none. `states`: as Applier::ListApplies, `state` among them.
std::string LaterAppliesText(const JournalState& state,
                             const std::vector<JournalState>& states);

}  // namespace clusterd

#endif  // DAEMON_AGENT_APPLY_LATER_APPLIES_H_
