// Who is attached, folded over hosts that agree:
//   STATE         HOSTS           SINCE      VERSION
//   attached      server[0-1023]  5 min-2 h  0.1.0
//   not attached  server1024      3 min      0.1.0    stream broken
//   not attached  server1025      never
//   conflict      server7         12 min     0.1.0    another machine ...
//
//   Drift
//     server3: net.core.somaxconn is 128, applied was 65535 (apply 3fa2... by
//     ann)
#ifndef CLIENT_PRINT_HOSTS_TABLE_H_
#define CLIENT_PRINT_HOSTS_TABLE_H_

#include <ostream>
#include <string>

#include "absl/time/time.h"
#include "config/words/terminal.h"
#include "proto/controller.pb.h"

namespace clusterd {

// All texts are made safe for a terminal; ages are by our clock, `now`.
//
// SINCE is the time attached, or since the host was last seen; a range where
// folded hosts differ. Ends with a line of counts.
void PrintHostsTable(const ListHostsResponse& hosts, const Style& style,
                     absl::Time now, std::ostream& out);

// "demo: 2 of 3 hosts attached; not attached: server2", without line end.
std::string HostsShort(const ListHostsResponse& hosts, bool utf8);

// One host and every fact of it, for `clusterctl describe`:
//   server1: attached for 12 min, clusterd 0.1.0, from 10.0.0.2:41234
// and then as PrintFactsTable.
void PrintHostFacts(const DescribeHostResponse& answer, const Style& style,
                    absl::Time now, std::ostream& out);

}  // namespace clusterd

#endif  // CLIENT_PRINT_HOSTS_TABLE_H_
