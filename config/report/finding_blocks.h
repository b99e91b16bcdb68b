// Which findings a bounded output shows, and in which order: the decisions of
// the table, without its layout.
#ifndef CONFIG_REPORT_FINDING_BLOCKS_H_
#define CONFIG_REPORT_FINDING_BLOCKS_H_

#include <string>
#include <vector>

#include "google/protobuf/repeated_ptr_field.h"
#include "proto/finding.pb.h"

namespace clusterd {

// The findings of one rule that have one state. Points into the report.
struct FindingBlock {
  std::string rule;
  State state = UNKNOWN;
  bool downgraded = false;  // Every one of them was a failure.
  std::vector<const Finding*> findings;
  size_t shown = 0;  // How many of them to print: the first ones, at least one.
};

// Everything that cannot be told because of one other rule.
struct CauseGroup {
  std::string cause;
  std::vector<std::string> rules;
  google::protobuf::RepeatedPtrField<Subject> subjects;
};

struct FindingOverview {
  // WARN, then UNKNOWN, then FAIL; within a state as the report has them, but
  // those that all have another rule as their cause come first.
  std::vector<FindingBlock> blocks;
  // Unknown findings that name their cause. They are in no block.
  std::vector<CauseGroup> causes;
};

// Shows at most `limit` findings, the worst first, `limit_per_rule` of each
// block, but never less than one of each.
FindingOverview ArrangeFindings(const Report& report, int limit,
                                int limit_per_rule);

}  // namespace clusterd

#endif  // CONFIG_REPORT_FINDING_BLOCKS_H_
