// The report of a check in forms that other programs take: a build server, a
// log store, an issue tracker; and any message as YAML. None has colours, and
// none holds what a terminal would obey. table, short and JSON are in
// config/report.
#ifndef CLIENT_PRINT_REPORT_FORMATS_H_
#define CLIENT_PRINT_REPORT_FORMATS_H_

#include <string>

#include "google/protobuf/message.h"
#include "proto/finding.pb.h"

namespace clusterd {

// What MessageJson has, as a YAML document that begins with "---". Parses back
// to the same values: a text that could be read as anything else is in double
// quotes. Noncharacters of Unicode become U+FFFD.
std::string MessageYaml(const google::protobuf::Message& message);

// A line of JSON each, with the names of MessageJson:
//   {"kind": "report", ...}   the report without its rules, its hosts, and what
//                             was seen by value and switch
//   {"kind": "finding", ...}  with category, why and source of its rule
//   {"kind": "rule", ...}     without findings
//   {"kind": "host", ...}
// Findings, rules and hosts also have cluster, run_id and started_at_ms of the
// report, for a log store takes lines apart. rule_counts are counted anew.
std::string ReportLines(const Report& report);

// {"kind": KIND, ...} of one message, with its line end. `head`: fields before
// its own, e.g. "\"a\": 1, ".
std::string KindLine(const char* kind, const std::string& head,
                     const google::protobuf::Message& message);

// JUnit's XML, in UTF-8. Each category is a testsuite; a testcase is a rule on
// the hosts that share a result:
//   pass     no child
//   warn     system-out, which counts as passed
//   fail     failure
//   unknown  error
//   skipped  skipped
// The hosts with facts that no finding of a rule names passed it; nothing is
// said of them where a finding is about the cluster. The suite "check" is about
// the run itself: which hosts answered, and an error or a failure where the
// verdict (SupportedVerdict) is one and no rule says so. Its time is the run's:
// rules have none.
std::string ReportJunit(const Report& report);

// Markdown (CommonMark with tables) to paste into a chat or an issue. Every
// text of the report is in a code span, where it is no link, image, mention or
// HTML; a "|" of a table cell is \x7c. `verbose`: every finding.
std::string ReportMarkdown(const Report& report, bool verbose);

}  // namespace clusterd

#endif  // CLIENT_PRINT_REPORT_FORMATS_H_
