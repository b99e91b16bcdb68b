// One host and every fact of it, for `clusterctl describe`:
//   server1: attached for 12 min, clusterd 0.1.0, from 10.0.0.2:41234
// and then as config/report/facts_table.h has it.
#ifndef CLIENT_PRINT_FACTS_TEXT_H_
#define CLIENT_PRINT_FACTS_TEXT_H_

#include <ostream>

#include "absl/time/time.h"
#include "config/words/terminal.h"
#include "proto/controller.pb.h"

namespace clusterd {

// All texts are made safe for a terminal. Ages are by our clock, `now`.
void PrintHostFacts(const DescribeHostResponse& answer, const Style& style,
                    absl::Time now, std::ostream& out);

}  // namespace clusterd

#endif  // CLIENT_PRINT_FACTS_TEXT_H_
