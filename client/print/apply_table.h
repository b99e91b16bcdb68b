// What came of an apply or a rollback as people read it, folded over hosts that
// ended the same, failures last:
//
//   Cluster demo, apply 3fa2c4d5e6f70812 of plan 9c41d2e3f4051627 by ann
//
//   Hosts
//     √ applied      node[01-10]  2 steps
//     - not started  node[13-20]  wave 1 failed
//     × undone       node12       step 2: /etc/sysctl.d: Read-only file system
//       residue  net.core.somaxconn is 128, was 4096: ...
//
//   STOPPED: 10 applied, 8 not started, 1 undone of 19 hosts in 12 s
//   take it back with: clusterctl rollback 3fa2c4d5e6f70812
#ifndef CLIENT_PRINT_APPLY_TABLE_H_
#define CLIENT_PRINT_APPLY_TABLE_H_

#include <cstddef>
#include <ostream>
#include <string>

#include "config/words/terminal.h"
#include "proto/plan.pb.h"

namespace clusterd {

struct ApplyLimits {
  size_t groups = 40;         // Of hosts; the worst ones are kept.
  int hosts_columns = 60;     // Folded names of one group.
  bool rollback_hint = true;  // How to take it back.
  size_t lines = 8;           // Of residues and the like of one group.
};

// Every text of the report is made safe for a terminal.
void PrintApplyTable(const ApplyReport& report, const Style& style,
                     std::ostream& out, const ApplyLimits& limits = {});

// "demo: apply 3fa2c4d5e6f70812 STOPPED: 10 applied, 1 undone of 11 hosts in
// 12 s", without line end.
std::string ApplyShort(const ApplyReport& report, bool utf8);

// The line of one host that has just ended, without line end:
//   √ applied  node01  2 steps (1.2 s)
std::string HostEndLine(const ApplyResult& result, bool rollback,
                        const Style& style);

}  // namespace clusterd

#endif  // CLIENT_PRINT_APPLY_TABLE_H_
