#include "client/print/report_table.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "client/print/count_text.h"
#include "client/print/duration_text.h"
#include "client/print/finding_blocks.h"
#include "client/print/state_word.h"
#include "client/print/subject_text.h"
#include "client/print/terminal_text.h"
#include "client/print/verdict.h"

namespace clusterd {
namespace {

constexpr int kKeyColumns = 10;
// A one-line text is cut here when the window's width is not known.
constexpr int kUnknownWidth = 120;

// Prints one report; lives for one call.
class TablePrinter {
 public:
  TablePrinter(const Report& report, const Style& style,
               const TableLimits& limits, std::ostream& out)
      : report_(report), style_(style), limits_(limits), out_(out) {}

  void Print() {
    PrintHead();
    PrintRules();
    PrintHosts();
    PrintFindings();
    PrintSummary();
  }

 private:
  std::string Safe(absl::string_view text) const {
    return SafeText(text, style_.utf8);
  }
  std::string Strong(absl::string_view text) const {
    return Painted(style_, Paint::kBold, text);
  }
  int ColumnsAfter(int used) const {
    return std::max((style_.width > 0 ? style_.width : kUnknownWidth) - used,
                    20);
  }

  void PrintHead();
  void PrintRules();
  std::string RuleText(const RuleResult& rule) const;
  void PrintHosts();
  void PrintFindings();
  void PrintBlock(const FindingBlock& block);
  void PrintFinding(const Finding& finding, const Finding* previous);
  void PrintField(const char* key, absl::string_view text, bool wrap);
  void PrintCause(const CauseGroup& cause);
  void PrintSummary();

  const Report& report_;
  const Style& style_;
  const TableLimits& limits_;
  std::ostream& out_;
};

std::vector<std::string> HostNames(const Report& report) {
  std::vector<std::string> names;
  for (const HostStatus& host : report.hosts()) names.push_back(host.host());
  return names;
}

void TablePrinter::PrintHead() {
  std::vector<std::string> parts;
  if (!report_.product().empty()) parts.push_back(Safe(report_.product()));
  if (!report_.hosts().empty()) {
    parts.push_back(absl::StrCat(
        CountOf(report_.hosts_size(), "host", "hosts"), ": ",
        Safe(HostsText(HostNames(report_), limits_.hosts_columns))));
  }
  if (!report_.cluster().empty()) {
    parts.insert(parts.begin(),
                 absl::StrCat("Cluster ", Strong(Safe(report_.cluster()))));
  }
  if (!parts.empty()) out_ << absl::StrJoin(parts, ", ") << "\n";
  if (!report_.network_namespace().empty()) {
    out_ << "network namespace " << Safe(report_.network_namespace()) << "\n";
  }
  for (const std::string& note : report_.notes()) {
    for (const std::string& line :
         WrapText(absl::StrCat("note: ", Safe(note)), style_.width)) {
      out_ << line << "\n";
    }
  }
}

std::string TablePrinter::RuleText(const RuleResult& rule) const {
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
  std::string text =
      SubjectsText(subjects, limits_.subject_groups, limits_.hosts_columns);
  if (!cause.empty()) absl::StrAppend(&text, ", because of ", cause);
  return text;
}

void TablePrinter::PrintRules() {
  // Categories in the report's order; the rules of one, worst last.
  std::vector<std::string> categories;
  std::map<std::string, std::vector<const RuleResult*>> rules_of;
  int name_columns = 0;
  for (const RuleResult& rule : report_.rules()) {
    std::vector<const RuleResult*>& rules = rules_of[rule.category()];
    if (rules.empty()) categories.push_back(rule.category());
    rules.push_back(&rule);
    name_columns = std::max(name_columns, TextColumns(Safe(rule.rule())));
  }
  for (const std::string& category : categories) {
    std::string title = Safe(category.empty() ? "other" : category);
    title[0] = absl::ascii_toupper(title[0]);
    out_ << "\n" << Strong(title) << "\n";
    std::vector<const RuleResult*>& rules = rules_of[category];
    std::stable_sort(rules.begin(), rules.end(),
                     [](const RuleResult* a, const RuleResult* b) {
                       return KnownState(a->state()) < KnownState(b->state());
                     });
    for (const RuleResult* rule : rules) {
      const std::string name = Padded(Safe(rule->rule()), name_columns);
      const std::string text = CutText(
          Safe(RuleText(*rule)), ColumnsAfter(15 + name_columns), style_.utf8);
      out_ << absl::StripTrailingAsciiWhitespace(
                  absl::StrCat("  ", StateLabel(rule->state(), style_), "  ",
                               name, "  ", text))
           << "\n";
    }
  }
}

void TablePrinter::PrintHosts() {
  // Worst last; hosts of one state and one reason share a line.
  std::map<std::pair<int, std::string>, std::vector<std::string>> groups;
  for (const HostStatus& host : report_.hosts()) {
    groups[{KnownState(host.state()), host.no_facts_reason()}].push_back(
        host.host());
  }
  if (groups.empty()) return;
  out_ << "\n" << Strong("Hosts") << "\n";
  const size_t limit = limits_.host_groups;
  size_t skip = groups.size() > limit ? groups.size() - limit : 0;
  size_t hidden = 0;
  for (const auto& [key, hosts] : groups) {
    if (skip > 0) {
      --skip;
      hidden += hosts.size();
      if (skip == 0) {
        out_ << "  " << CountOf(hidden, "more host", "more hosts")
             << "; -o json has all\n";
      }
      continue;
    }
    std::string text = Safe(HostsText(hosts, limits_.hosts_columns));
    if (!key.second.empty()) absl::StrAppend(&text, ": ", Safe(key.second));
    out_ << "  " << StateLabel(static_cast<State>(key.first), style_) << "  "
         << CutText(text, ColumnsAfter(13), style_.utf8) << "\n";
  }
}

void TablePrinter::PrintField(const char* key, absl::string_view text,
                              bool wrap) {
  if (text.empty()) return;
  std::string head = Padded(key, kKeyColumns);
  // Only our own texts (why, fix) have lines of their own; see PrintFinding.
  for (const absl::string_view paragraph : absl::StrSplit(text, '\n')) {
    const int columns =
        wrap && style_.width > 0 ? ColumnsAfter(4 + kKeyColumns) : 0;
    for (const std::string& line : WrapText(Safe(paragraph), columns)) {
      out_ << "    " << head << line << "\n";
      head = std::string(kKeyColumns, ' ');
    }
  }
}

void TablePrinter::PrintFinding(const Finding& finding,
                                const Finding* previous) {
  const std::string subjects = Safe(SubjectsText(
      finding.subjects(), limits_.subject_groups, limits_.hosts_columns));
  for (const std::string& line : WrapText(subjects, style_.width - 2)) {
    out_ << "  " << Strong(line) << "\n";
  }
  // What was observed may quote a host: it never gets a second line.
  PrintField("found", Safe(finding.observed()), true);
  PrintField("expected", Safe(finding.expected()), true);
  if (!finding.caused_by().empty()) {
    PrintField("cause", Safe(finding.caused_by()), true);
  }
  if (previous == nullptr || previous->why() != finding.why()) {
    PrintField("why", finding.why(), true);
  }
  PrintField("fix", finding.fix(), false);
}

void TablePrinter::PrintBlock(const FindingBlock& block) {
  const std::string name = Safe(block.rule);
  out_ << "\n" << StateLabel(block.state, style_) << "  " << Strong(name);
  if (block.downgraded) out_ << " (downgraded from fail)";
  out_ << "\n";
  const Finding* previous = nullptr;
  for (size_t i = 0; i < block.shown; ++i) {
    PrintFinding(*block.findings[i], previous);
    previous = block.findings[i];
  }
  const size_t rest = block.findings.size() - block.shown;
  if (rest > 0) {
    out_ << "  and " << CountOf(rest, "more finding", "more findings")
         << "; -o json has all\n";
  }
  out_ << Painted(style_, Paint::kDim,
                  absl::StrCat("  more: clusterctl explain ", name))
       << "\n";
}

void TablePrinter::PrintCause(const CauseGroup& cause) {
  const std::string head = StateLabel(UNKNOWN, style_);
  const std::string text =
      Safe(absl::StrCat(CountOf(cause.rules.size(), "rule", "rules"),
                        " because of ", cause.cause, " on ",
                        SubjectsText(cause.subjects, limits_.subject_groups,
                                     limits_.hosts_columns),
                        ": ", absl::StrJoin(cause.rules, ", ")));
  out_ << "\n";
  std::string indent = absl::StrCat(head, "  ");
  for (const std::string& line :
       WrapText(text, style_.width > 0 ? ColumnsAfter(11) : 0)) {
    out_ << indent << line << "\n";
    indent = std::string(11, ' ');
  }
}

void TablePrinter::PrintFindings() {
  const FindingOverview overview =
      ArrangeFindings(report_, limits_.findings, limits_.findings_per_rule);
  bool causes_printed = false;
  for (const FindingBlock& block : overview.blocks) {
    if (block.state != WARN && !causes_printed) {
      for (const CauseGroup& cause : overview.causes) PrintCause(cause);
      causes_printed = true;
    }
    PrintBlock(block);
  }
  if (causes_printed) return;
  for (const CauseGroup& cause : overview.causes) PrintCause(cause);
}

void TablePrinter::PrintSummary() {
  const State verdict = KnownState(report_.verdict());
  const bool judged = report_.error().empty();
  const std::string word =
      judged ? absl::AsciiStrToUpper(StateWord(verdict)) : "NO VERDICT";
  const std::string text =
      judged
          ? absl::StrCat(CountsText(CountRules(report_)), " of ",
                         CountOf(report_.rules_size(), "rule", "rules"), "; ",
                         CountOf(report_.hosts_size(), "host", "hosts"), " in ",
                         DurationText(absl::Milliseconds(report_.elapsed_ms())))
          : Safe(report_.error());
  std::vector<std::string> lines =
      WrapText(absl::StrCat(word, ": ", text), style_.width);
  // Painted after wrapping: colour codes take no columns. The word may have
  // been wrapped too in a very narrow window.
  if (absl::StartsWith(lines[0], word)) {
    lines[0] = absl::StrCat(Painted(style_, StatePaint(verdict), Strong(word)),
                            lines[0].substr(word.size()));
  }
  out_ << "\n" << absl::StrJoin(lines, "\n") << "\n";
}

}  // namespace

void PrintReportTable(const Report& report, const Style& style,
                      std::ostream& out, const TableLimits& limits) {
  TablePrinter(report, style, limits, out).Print();
}

}  // namespace clusterd
