// Every fact of one host as people read it:
//   observed 0.4 s ago, took 1.2 s
//
//   Kernel
//     reserved ports  60000-60015
//     somaxconn       missing: not permitted: /proc/sys/net/core/somaxconn
//   ...
//   Device 3
//     address         192.168.103.100, netmask 255.255.255.0
// Follows the messages field by field, so new facts appear automatically.
#ifndef CONFIG_REPORT_FACTS_TABLE_H_
#define CONFIG_REPORT_FACTS_TABLE_H_

#include <ostream>

#include "absl/time/time.h"
#include "config/words/terminal.h"
#include "proto/facts.pb.h"

namespace clusterd {

// Prints a fact's value, why it is missing, or "not asked for". Lists are cut
// after 20 lines and say so. All texts are made safe for a terminal. Ages are
// by our clock, `now`.
void PrintFactsTable(const HostFacts& facts, const Style& style, absl::Time now,
                     std::ostream& out);

}  // namespace clusterd

#endif  // CONFIG_REPORT_FACTS_TABLE_H_
