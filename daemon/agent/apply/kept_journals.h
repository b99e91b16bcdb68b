// Which journals go when there are too many of them, so that the folder and the
// reading of it stay bounded:
//   in effect (applied, or not wholly   the newest 512 stay: a rollback needs
//   taken back)                         the journal, and so does drift
//   undone or rolled back wholly        the newest 64 stay: they only tell how
//                                       it ended
//   not finished                        always stays
// The two never push each other out. 512 journals of a server with 16 devices
// are about 50 MB. What an apply whose journal went has set stays set; clusterd
// can take it back no more and tells no drift of it.
#ifndef DAEMON_AGENT_APPLY_KEPT_JOURNALS_H_
#define DAEMON_AGENT_APPLY_KEPT_JOURNALS_H_

#include <cstddef>
#include <string>
#include <vector>

#include "daemon/agent/apply/journal.h"

namespace clusterd {

struct KeptJournals {
  size_t in_effect = 512;
  size_t taken_back = 64;
};

// Apply ids, oldest first. `states`: as Applier::ListApplies.
std::vector<std::string> JournalsToDrop(const std::vector<JournalState>& states,
                                        const KeptJournals& kept);

}  // namespace clusterd

#endif  // DAEMON_AGENT_APPLY_KEPT_JOURNALS_H_
