// Every fact of one host, for `clusterctl describe`:
//   server1: attached for 12 min, clusterd 0.1.0, from 10.0.0.2:41234
//   observed 0.4 s ago, took 1.2 s
//
//   Kernel
//     reserved ports  60000-60015
//     somaxconn       missing: not permitted: /proc/sys/net/core/somaxconn
//   ...
//   Device 3
//     address         192.168.103.100, netmask 255.255.255.0
// Follows the messages field by field, so that a new fact shows up by itself.
#ifndef CLIENT_PRINT_FACTS_TEXT_H_
#define CLIENT_PRINT_FACTS_TEXT_H_

#include <ostream>

#include "absl/time/time.h"
#include "client/print/terminal.h"
#include "proto/controller.pb.h"

namespace clusterd {

// A fact with a value, with the reason why it is missing, or "not asked". Lists
// are cut after 20 lines and say so. All texts are made safe for a terminal.
// Ages are by our clock, `now`.
void PrintHostFacts(const DescribeHostResponse& answer, const Style& style,
                    absl::Time now, std::ostream& out);

}  // namespace clusterd

#endif  // CLIENT_PRINT_FACTS_TEXT_H_
