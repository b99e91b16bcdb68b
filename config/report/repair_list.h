// The repairs of a report: one line per cause, with its repair and with the
// rules that the repair fixes, e.g.
//   node24 device 2: `hccn_tool -i 2 -ip -s …` (4 rules: …)
//   10 hosts: `clusterctl plan` has the changes (6 rules: …)
//   s[1-3]: the device network was never configured (24 devices, cabling is
//   fine); `clusterctl plan` has 72 values (2 rules: …)
#ifndef CONFIG_REPORT_REPAIR_LIST_H_
#define CONFIG_REPORT_REPAIR_LIST_H_

#include <string>
#include <vector>

#include "config/words/subject_text.h"
#include "proto/finding.pb.h"

namespace clusterd {

struct Repair {
  State state = WARN;              // The worst that it fixes.
  Subjects subjects;               // Only the causes'.
  std::vector<std::string> rules;  // The cause's first.
  std::string how;                 // In words, or commands in backquotes.
  std::string command;             // For a single cause.
  size_t causes = 1;
};

// Worst first, and among equals the one that explains most. Omits skipped
// rules. All that one `clusterctl plan` fixes is one line, except for hosts
// with one such cause, which have their command, and those never configured.
std::vector<Repair> ListRepairs(const Report& report);

// "and 12 more causes: clusterctl show 3fa2… --verbose".
std::string MoreCauses(const Report& report, size_t causes);

// "node24 device 2: `hccn_tool …` (link, net-health)".
std::string RepairLine(const Repair& repair);

}  // namespace clusterd

#endif  // CONFIG_REPORT_REPAIR_LIST_H_
