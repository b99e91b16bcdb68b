// What two reports differ in, as people read it:
//   2 worse
//     × link node[07-08] device 3: pass -> fail: link is DOWN
//       fix: look at the cable
#ifndef CLIENT_PRINT_DIFF_TABLE_H_
#define CLIENT_PRINT_DIFF_TABLE_H_

#include <cstddef>
#include <ostream>
#include <string>

#include "absl/time/time.h"
#include "config/words/terminal.h"
#include "proto/finding.pb.h"

namespace clusterd {

// Every text is made safe for a terminal. `verbose`: every change, and every
// fix whole; else the first of each kind, and how many more.
void PrintDiffTable(const ReportDiff& diff, const Style& style, bool verbose,
                    absl::TimeZone zone, std::ostream& out);

// "3fa2c4d5e6f70812 to 81b0…: 2 worse, 1 mended", without line end.
std::string DiffShort(const ReportDiff& diff, bool utf8);

// The changes by kind, at most so many of each.
void PrintChanges(const ReportDiff& diff, size_t most, Page& page);

}  // namespace clusterd

#endif  // CLIENT_PRINT_DIFF_TABLE_H_
