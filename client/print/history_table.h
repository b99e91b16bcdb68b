// Prints the history, and the differences of two checks:
//   ID                WHEN                        WHO  KIND   OUTCOME SUMMARY
//   3fa2c4d5e6f70812  2025-01-01 01:00:00 +01:00  ann  apply  succeeded  12 ...
#ifndef CLIENT_PRINT_HISTORY_TABLE_H_
#define CLIENT_PRINT_HISTORY_TABLE_H_

#include <cstddef>
#include <ostream>
#include <string>

#include "absl/time/time.h"
#include "config/words/terminal.h"
#include "config/words/words.h"
#include "proto/controller.pb.h"
#include "proto/finding.pb.h"

namespace clusterd {

// Prints the differences of two reports:
//   2 worse
//     × link node[07-08] device 3: pass -> fail: link is DOWN
//       fix: check the cable
// Every text is made safe for a terminal. `verbose`: all changes with the whole
// fix; otherwise the first of each kind, and a count of the others.
void PrintDiffTable(const ReportDiff& diff, const Style& style, bool verbose,
                    absl::TimeZone zone, std::ostream& out);

// "3fa2… to 81b0…: 2 worse, 1 resolved", without line end; safe in UTF-8.
std::string DiffShort(const ReportDiff& diff);

// Prints the changes by kind, at most `most` of each.
void PrintChanges(const ReportDiff& diff, size_t most, Page& page);

// "check", "plan", "apply", "rollback"; "kind 17" for an unknown one.
FindingValue HistoryKindWords(HistoryKind kind);

// An entry's outcome in words; unchanged if this program does not know it.
std::string OutcomeText(const std::string& outcome);

// Every text is made safe for a terminal.
void PrintHistoryTable(const ListHistoryResponse& history, const Style& style,
                       absl::TimeZone zone, std::ostream& out);

// "apply 3fa2c4d5e6f70812 by ann, 2025-01-01 01:00:00 +01:00: succeeded, ...",
// without line end; safe for a terminal of UTF-8.
std::string HistoryEntryLine(const HistoryEntry& entry, absl::TimeZone zone);

}  // namespace clusterd

#endif  // CLIENT_PRINT_HISTORY_TABLE_H_
