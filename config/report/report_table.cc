#include "config/report/report_table.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "config/report/finding_blocks.h"
#include "config/report/verdict.h"
#include "config/words/first_met.h"
#include "config/words/number_text.h"
#include "config/words/page.h"
#include "config/words/state_word.h"
#include "config/words/subject_text.h"
#include "config/words/terminal_text.h"

namespace clusterd {
namespace {

constexpr int kKeyColumns = 10;
// A one-line text is cut at 120 when the window's width is not known.
constexpr TableLayout kCutTable = {2, TableLayout::Last::kIsCut, 120};

// Prints one report; lives for one call.
class ReportPrinter {
 public:
  ReportPrinter(const Report& report, const Style& style,
                const TableLimits& limits, std::ostream& out)
      : report_(report), limits_(limits), page_(style, out) {}

  void Print() {
    PrintHead();
    PrintRules();
    PrintHosts();
    PrintFindings();
    PrintSummary();
  }

 private:
  std::string Subjects(
      const google::protobuf::RepeatedPtrField<Subject>& subjects) const {
    return SubjectsText(subjects, limits_.subject_groups,
                        limits_.hosts_columns);
  }
  std::string Hosts(const std::vector<std::string>& hosts) const {
    return HostsText(hosts, limits_.hosts_columns);
  }
  Cell StateCell(State state) const {
    return {StateText(state, page_.style().utf8), StatePaint(state)};
  }

  void PrintHead();
  void PrintRules();
  std::string RuleText(const RuleResult& rule) const;
  void PrintHosts();
  void PrintFindings();
  void PrintBlock(const FindingBlock& block);
  void PrintFinding(const Finding& finding, const Finding* previous);
  void PrintField(const char* key, absl::string_view text);
  void PrintCauses(const std::vector<CauseGroup>& causes);
  void PrintSummary();

  const Report& report_;
  const TableLimits& limits_;
  Page page_;
};

void ReportPrinter::PrintHead() {
  std::vector<std::string> parts;
  if (!report_.cluster().empty()) {
    parts.push_back(absl::StrCat("Cluster ", page_.Strong(report_.cluster())));
  }
  if (!report_.product().empty()) {
    parts.push_back(page_.Safe(report_.product()));
  }
  if (!report_.hosts().empty()) {
    std::vector<std::string> names;
    for (const HostStatus& host : report_.hosts()) names.push_back(host.host());
    parts.push_back(absl::StrCat(Count(names.size(), "host"), ": ",
                                 page_.Safe(Hosts(names))));
  }
  if (!parts.empty()) page_.out() << absl::StrJoin(parts, ", ") << "\n";
  if (!report_.network_namespace().empty()) {
    page_.Whole("network namespace ", page_.Safe(report_.network_namespace()));
  }
  page_.PrintNotes(report_.notes());
}

std::string ReportPrinter::RuleText(const RuleResult& rule) const {
  if (rule.state() == SKIPPED) return rule.skip_reason();
  if (rule.findings().empty()) return rule.summary();
  google::protobuf::RepeatedPtrField<Subject> subjects;
  std::string cause = rule.findings(0).caused_by();
  for (const Finding& finding : rule.findings()) {
    if (finding.state() != rule.state()) continue;
    subjects.MergeFrom(finding.subjects());
    if (finding.caused_by() != cause) cause.clear();
  }
  // A pass whose findings only say what was left out.
  if (subjects.empty()) return rule.summary();
  return absl::StrCat(Subjects(subjects), cause.empty() ? "" : ", because of ",
                      cause);
}

void ReportPrinter::PrintRules() {
  // Categories in the report's order; the rules of one, worst last.
  FirstMet<std::string, std::vector<const RuleResult*>> categories;
  for (const RuleResult& rule : report_.rules()) {
    categories[rule.category()].push_back(&rule);
  }
  FirstMet<std::string, std::vector<Row>> tables;
  std::vector<Row> all;
  for (auto& [category, rules] : categories.items()) {
    std::stable_sort(rules.begin(), rules.end(),
                     [](const RuleResult* a, const RuleResult* b) {
                       return KnownState(a->state()) < KnownState(b->state());
                     });
    for (const RuleResult* rule : rules) {
      all.push_back({StateCell(rule->state()),
                     {page_.Safe(rule->rule())},
                     {page_.Safe(RuleText(*rule))}});
      tables[category].push_back(all.back());
    }
  }
  // One width for all categories.
  const std::vector<int> columns = ColumnWidths(all);
  for (const auto& [category, rows] : tables) {
    std::string title = category.empty() ? "other" : category;
    title[0] = absl::ascii_toupper(title[0]);
    page_.Title(title);
    for (const Row& row : rows) page_.PrintRow(row, columns, kCutTable);
  }
}

void ReportPrinter::PrintHosts() {
  // Worst last; hosts of one state and one reason share a line.
  std::map<std::pair<State, std::string>, std::vector<std::string>> groups;
  for (const HostStatus& host : report_.hosts()) {
    groups[{KnownState(host.state()), host.no_facts_reason()}].push_back(
        host.host());
  }
  if (groups.empty()) return;
  page_.Title("Hosts");
  const size_t limit = limits_.host_groups;
  const size_t skipped = groups.size() - std::min(groups.size(), limit);
  const auto first_shown = std::next(groups.begin(), skipped);
  size_t hidden = 0;
  for (auto group = groups.begin(); group != first_shown; ++group) {
    hidden += group->second.size();
  }
  if (hidden > 0) {
    page_.out() << "  " << Count(hidden, "more host") << "; -o json has all\n";
  }
  std::vector<Row> rows;
  for (auto group = first_shown; group != groups.end(); ++group) {
    const auto& [state, reason] = group->first;
    rows.push_back(
        {StateCell(state),
         {page_.Safe(absl::StrCat(Hosts(group->second),
                                  reason.empty() ? "" : ": ", reason))}});
  }
  page_.PrintTable(rows, kCutTable);
}

void ReportPrinter::PrintField(const char* key, absl::string_view text) {
  if (text.empty()) return;
  page_.Wrapped(absl::StrCat("    ", Padded(key, kKeyColumns)), text);
}

void ReportPrinter::PrintFinding(const Finding& finding,
                                 const Finding* previous) {
  const std::string subjects = page_.Safe(Subjects(finding.subjects()));
  for (const std::string& line : WrapText(subjects, page_.style().width - 2)) {
    page_.out() << "  " << page_.Strong(line) << "\n";
  }
  // What was observed may quote a host: it never gets a second line. Our own
  // texts (why, fix) may have several.
  PrintField("found", page_.Safe(finding.observed()));
  PrintField("expected", page_.Safe(finding.expected()));
  PrintField("cause", page_.Safe(finding.caused_by()));
  if (previous == nullptr || previous->why() != finding.why()) {
    PrintField("why", page_.SafeLines(finding.why()));
  }
  if (finding.fix().empty()) return;
  page_.Whole(absl::StrCat("    ", Padded("fix", kKeyColumns)),
              page_.SafeLines(finding.fix()));
}

void ReportPrinter::PrintBlock(const FindingBlock& block) {
  page_.out() << "\n"
              << StateLabel(block.state, page_.style()) << "  "
              << page_.Strong(block.rule)
              << (block.downgraded ? " (downgraded from fail)\n" : "\n");
  const Finding* previous = nullptr;
  for (size_t i = 0; i < block.shown; ++i) {
    PrintFinding(*block.findings[i], previous);
    previous = block.findings[i];
  }
  const size_t rest = block.findings.size() - block.shown;
  if (rest > 0) {
    page_.out() << "  and " << Count(rest, "more finding")
                << "; -o json has all\n";
  }
  page_.out() << Painted(page_.style(), Paint::kDim,
                         absl::StrCat("  more: clusterctl explain ",
                                      page_.Safe(block.rule)))
              << "\n";
}

void ReportPrinter::PrintCauses(const std::vector<CauseGroup>& causes) {
  for (const CauseGroup& cause : causes) {
    page_.out() << "\n";
    page_.Wrapped(absl::StrCat(StateText(UNKNOWN, page_.style().utf8), "  "),
                  page_.Safe(absl::StrCat(Count(cause.rules.size(), "rule"),
                                          " because of ", cause.cause, " on ",
                                          Subjects(cause.subjects), ": ",
                                          absl::StrJoin(cause.rules, ", "))),
                  StatePaint(UNKNOWN));
  }
}

void ReportPrinter::PrintFindings() {
  const FindingOverview overview =
      ArrangeFindings(report_, limits_.findings, limits_.findings_per_rule);
  const auto& blocks = overview.blocks;
  const auto worse = std::find_if(
      blocks.begin(), blocks.end(),
      [](const FindingBlock& block) { return block.state != WARN; });
  for (auto block = blocks.begin(); block != worse; ++block) PrintBlock(*block);
  PrintCauses(overview.causes);
  for (auto block = worse; block != blocks.end(); ++block) PrintBlock(*block);
}

void ReportPrinter::PrintSummary() {
  page_.out() << "\n";
  const State verdict = KnownState(report_.verdict());
  if (!report_.error().empty()) {
    page_.Sentence("NO VERDICT", StatePaint(verdict), report_.error());
    return;
  }
  page_.Sentence(absl::AsciiStrToUpper(StateWord(verdict)), StatePaint(verdict),
                 absl::StrCat(CountsText(CountRules(report_)), " of ",
                              Count(report_.rules_size(), "rule"), "; ",
                              Count(report_.hosts_size(), "host"), " in ",
                              ElapsedText(report_.elapsed_ms())));
}

}  // namespace

void PrintReportTable(const Report& report, const Style& style,
                      std::ostream& out, const TableLimits& limits) {
  ReportPrinter(report, style, limits, out).Print();
}

}  // namespace clusterd
