// What a report comes down to: one line per cause, with its repair and with the
// rules that the repair puts in order, e.g.
//   node24 device 2: `hccn_tool -i 2 -ip -s …` (4 rules: …)
//   10 hosts: `clusterctl plan` mends them (6 rules: …)
#ifndef CONFIG_REPORT_REPAIR_LIST_H_
#define CONFIG_REPORT_REPAIR_LIST_H_

#include <string>
#include <vector>

#include "proto/finding.pb.h"

namespace clusterd {

struct Repair {
  State state = WARN;  // The worst of all that it puts in order.
  google::protobuf::RepeatedPtrField<Subject> subjects;  // Of the causes alone.
  std::vector<std::string> rules;  // That of the cause first.
  std::string how;                 // In words, or commands in backquotes.
  std::string command;  // Of a single cause, beside words in `how`, if it has.
  size_t causes = 1;
};

// Worst last. Nothing for what is skipped. What one `clusterctl plan` mends is
// one line, but for hosts with a single such cause, which have their command.
std::vector<Repair> ListRepairs(const Report& report);

// The best ones of a state as one line, until no more than `most` are left or
// each state has one; WARN first, FAIL last.
void FoldRepairs(size_t most, std::vector<Repair>* repairs);

// "node24 device 2: `hccn_tool …` (link, net-health)".
std::string RepairLine(const Repair& repair);

}  // namespace clusterd

#endif  // CONFIG_REPORT_REPAIR_LIST_H_
