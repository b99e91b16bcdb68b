// The report of a check for a build server, a log store or an issue tracker,
// and any message as YAML. None has colours or a terminal's control characters.
// config/report has table, short and JSON.
#ifndef CLIENT_PRINT_REPORT_FORMATS_H_
#define CLIENT_PRINT_REPORT_FORMATS_H_

#include <string>

#include "google/protobuf/message.h"
#include "proto/finding.pb.h"

namespace clusterd {

// MessageJson as a YAML document that begins with "---". Parses to the same
// values: ambiguous texts are quoted. Noncharacters of Unicode become U+FFFD.
std::string MessageYaml(const google::protobuf::Message& message);

// Lines of JSON, with the names of MessageJson:
//   {"kind": "report", ...}   the report without its rules, hosts, value groups
//                             and switches
//   {"kind": "finding", ...}  with category, why and source of its rule
//   {"kind": "rule", ...}     without findings
//   {"kind": "host", ...}
// Findings, rules and hosts also have cluster, run_id and started_at_ms of the
// report, as a log store separates lines. rule_counts are recounted.
std::string ReportLines(const Report& report);

// {"kind": KIND, ...} of one message, with its line end. `head`: fields that
// come first, e.g. "\"a\": 1, ".
std::string KindLine(const char* kind, const std::string& head,
                     const google::protobuf::Message& message);

// JUnit's XML, in UTF-8. Each category is a testsuite; a testcase is a rule on
// the hosts that share a result:
//   pass     no child
//   warn     system-out, which counts as passed
//   fail     failure
//   unknown  error
//   skipped  skipped
// A host with facts passed a rule if no finding names the host. A rule with a
// finding about the cluster has no passed hosts. The suite "check" has the
// hosts that answered. It also has an error or failure if the verdict
// (SupportedVerdict) is one that no rule explains. Its time is the run's, as
// rules have none.
std::string ReportJunit(const Report& report);

// Markdown (CommonMark with tables) to paste into a chat or an issue. Every
// text of the report is in a code span, so that it cannot be a link, image,
// mention or HTML. A "|" of a table cell is \x7c. `verbose`: every finding.
std::string ReportMarkdown(const Report& report, bool verbose);

}  // namespace clusterd

#endif  // CLIENT_PRINT_REPORT_FORMATS_H_
