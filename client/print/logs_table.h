// Codes of HCCL in hosts' logs, each with its explanation, the most frequent
// last:
//   EI0006  12 lines on server[0-1]: no connection to another rank came about
//           in time
//     first  server0:/home/ann/ascend/log/debug/plog/plog-1.log:88
//            [ERROR] HCCL(4711,python3): ... Getting socket times out
//     rules  link, net-health; clusterctl explain EI0006
#ifndef CLIENT_PRINT_LOGS_TABLE_H_
#define CLIENT_PRINT_LOGS_TABLE_H_

#include <ostream>
#include <string>

#include "config/words/terminal.h"
#include "proto/controller.pb.h"

namespace clusterd {

// Fills in `codes` from the hosts' logs, the rarest first, with the texts of
// `clusterctl explain` in the current language.
void AddCodes(const ClusterSpec& spec, LogsAnswer* answer);

// The number of hosts whose logs could not be read.
size_t CountUnread(const LogsAnswer& answer);

// REQUIRES: AddCodes. All texts are made safe for a terminal.
void PrintLogsTable(const LogsAnswer& answer, const LogsQuery& asked,
                    const Style& style, std::ostream& out);

// "EI0006 12 on server[0-1]; 1 host not read", without line end; safe in UTF-8.
std::string LogsShort(const LogsAnswer& answer);

}  // namespace clusterd

#endif  // CLIENT_PRINT_LOGS_TABLE_H_
