// The report as people read it in a terminal:
//
//   Cluster demo, atlas-training, 2 hosts: server[0-1]
//
//   Device
//     √ pass     net-health  16 devices on 2 hosts
//     × fail     link        server1 device 3
//   ...
//   × fail     link
//     server1 device 3
//       found     DOWN
//       expected  UP
//       why       ...
//       fix       ...
//     more: clusterctl explain link
//
//   FAIL: 1 failed, 24 passed of 25 rules; 2 hosts in 1.3 s
//
// Worst last, where the eye is. Bounded: however many findings there are, each
// rule shows some and says how many it left out.
#ifndef CONFIG_REPORT_REPORT_TABLE_H_
#define CONFIG_REPORT_REPORT_TABLE_H_

#include <ostream>

#include "config/words/terminal.h"
#include "proto/finding.pb.h"

namespace clusterd {

// How much one table shows; -o json shows all.
struct TableLimits {
  int findings = 24;  // In all; but at least one per rule.
  int findings_per_rule = 4;
  int subject_groups = 4;   // Per finding.
  int hosts_columns = 100;  // Folded names of one subject.
  int host_groups = 10;     // Lines under "Hosts".
};

// Every text of the report is made safe for a terminal.
void PrintReportTable(const Report& report, const Style& style,
                      std::ostream& out, const TableLimits& limits = {});

}  // namespace clusterd

#endif  // CONFIG_REPORT_REPORT_TABLE_H_
