// The report as people read it in a terminal:
//
//   Cluster demo, atlas-training, 2 hosts: server[0-1]
//   job slurm:1234.0: 2 servers, 16 devices
//
//   × fail     link
//     server1 device 3
//       found     DOWN
//       expected  UP
//       why       ...
//       fix       ...
//     more: clusterctl explain link
//
//   × fail     1 rule because of link on server1 device 3: net-health
//
//   Rules; --verbose has each
//     device   2 failed, 22 passed
//     cluster  12 passed
//   ...
//   Repairs, worst first
//     × fail     server1 device 3: check the cable (link, net-health)
//
//   FAIL: 2 failed, 34 passed of 36 rules; 2 hosts in 1.3 s
//
// Findings come first, the worst before the others, and rules are folded by
// category. Unless it is verbose, a finding that follows from another has no
// block, and the last 24 lines have the worst causes, a line each, and how many
// more there are. A rule shows a bounded number of findings, failures first,
// and says how many are left out and on which hosts. "Hosts" names every host
// that fails.
#ifndef CONFIG_REPORT_REPORT_TABLE_H_
#define CONFIG_REPORT_REPORT_TABLE_H_

#include <ostream>
#include <string>

#include "config/words/terminal.h"
#include "proto/finding.pb.h"

namespace clusterd {

// Makes every text of the report safe for a terminal. `verbose`: every finding,
// every rule and every host.
void PrintReportTable(const Report& report, const Style& style, bool verbose,
                      std::ostream& out);

// The report as one line that fits a chat message:
//   demo: FAIL on s1: 1 failed: link: s1 device 3: DOWN; 2 hosts in 1.3 s
// At most some 500 characters without a line end; made safe for a terminal.
// Begins with the cluster's name, or with the host's for its report on itself.
// Names every failing host, as far as they fit: "and 12 more failing hosts".
// Then the worst findings, causes first, and the first of the hosts without
// facts, with the reason.
std::string ReportShort(const Report& report, bool utf8);

}  // namespace clusterd

#endif  // CONFIG_REPORT_REPORT_TABLE_H_
