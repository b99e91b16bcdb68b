// The report as one line that fits a chat message:
//   demo: FAIL 1 of 25 rules: link: server1 device 3: DOWN; 2 hosts in 1.3 s
#ifndef CONFIG_REPORT_REPORT_SHORT_H_
#define CONFIG_REPORT_REPORT_SHORT_H_

#include <string>

#include "proto/finding.pb.h"

namespace clusterd {

// One line without its end, some 400 characters at most; made safe for a
// terminal. Names the worst findings only, and of those first the ones that
// have no other rule as their cause; and the first of the hosts without facts,
// with the reason, after the failures.
std::string ReportShort(const Report& report, bool utf8);

}  // namespace clusterd

#endif  // CONFIG_REPORT_REPORT_SHORT_H_
