#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "client/print/report_formats.h"
#include "config/report/message_json.h"
#include "config/words/state_word.h"
#include "google/protobuf/wrappers.pb.h"

namespace clusterd {
namespace {

// "\"name\": \"text\", "
std::string JsonField(const char* name, const std::string& text) {
  google::protobuf::StringValue value;
  value.set_value(text);
  return absl::StrCat(
      "\"", name,
      "\": ", absl::StripTrailingAsciiWhitespace(MessageJson(value)), ", ");
}

}  // namespace

std::string KindLine(const char* kind, const std::string& head,
                     const google::protobuf::Message& message) {
  std::string line = OnOneLine(MessageJson(message));
  // Lists that have lines of their own. Within a text quotes are escaped.
  absl::StrReplaceAll({{"\"rules\": [],", ""},
                       {"\"hosts\": [],", ""},
                       {"\"findings\": [],", ""}},
                      &line);
  return absl::StrCat("{", JsonField("kind", kind), head, line.substr(1));
}

std::string ReportLines(const Report& report) {
  Report whole = report;
  whole.clear_rules();
  whole.clear_hosts();
  whole.clear_value_groups();
  whole.clear_switches();
  *whole.mutable_rule_counts() = CountRules(report);
  std::string lines = KindLine("report", "", whole);
  const std::string of_run = absl::StrCat(
      JsonField("cluster", report.cluster()),
      JsonField("run_id", report.run_id()),
      JsonField("started_at_ms", absl::StrCat(report.started_at_ms())));
  for (const RuleResult& rule : report.rules()) {
    const std::string of_rule =
        absl::StrCat(of_run, JsonField("category", rule.category()),
                     JsonField("source", rule.source()));
    for (Finding finding : rule.findings()) {
      if (finding.why().empty()) finding.set_why(rule.why());
      lines += KindLine("finding", of_rule, finding);
    }
  }
  for (RuleResult rule : report.rules()) {
    rule.clear_findings();
    lines += KindLine("rule", of_run, rule);
  }
  for (const HostStatus& host : report.hosts()) {
    lines += KindLine("host", of_run, host);
  }
  return lines;
}

}  // namespace clusterd
