// What a report really says. A report is never read as better than its rules
// and hosts are, whatever its verdict field holds.
#ifndef CLIENT_PRINT_VERDICT_H_
#define CLIENT_PRINT_VERDICT_H_

#include <string>

#include "proto/finding.pb.h"

namespace clusterd {

//   FAIL     a rule failed
//   UNKNOWN  Report.error is set, the schema is one that we do not know, no
//   rule
//            was judged, no host is in it, a host has no facts, or a rule is
//            unknown
//   WARN     a rule warned
//   PASS     otherwise
// and never better than Report.verdict.
State SupportedVerdict(const Report& report);

// How many rules are in each state, counted anew.
Counts CountRules(const Report& report);

// "1 failed, 1 unknown, 2 warned, 24 passed, 3 skipped"; zeros are left out.
std::string CountsText(const Counts& counts);

}  // namespace clusterd

#endif  // CLIENT_PRINT_VERDICT_H_
