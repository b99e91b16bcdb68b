// The history as people read it, newest first:
//   ID                WHEN                        WHO  KIND   OUTCOME SUMMARY
//   3fa2c4d5e6f70812  2025-01-01 01:00:00 +01:00  ann  apply  succeeded  12 ...
#ifndef CLIENT_PRINT_HISTORY_TABLE_H_
#define CLIENT_PRINT_HISTORY_TABLE_H_

#include <ostream>
#include <string>

#include "absl/time/time.h"
#include "config/words/terminal.h"
#include "proto/controller.pb.h"

namespace clusterd {

// "check", "plan", "apply", "rollback"; "kind 17" for one that this program
// does not know.
std::string HistoryKindWord(HistoryKind kind);

// Every text is made safe for a terminal.
void PrintHistoryTable(const ListHistoryResponse& history, const Style& style,
                       absl::TimeZone zone, std::ostream& out);

// "apply 3fa2c4d5e6f70812 by ann, 2025-01-01 01:00:00 +01:00: succeeded, ...",
// without line end.
std::string HistoryEntryLine(const HistoryEntry& entry, absl::TimeZone zone,
                             bool utf8);

}  // namespace clusterd

#endif  // CLIENT_PRINT_HISTORY_TABLE_H_
