#include "config/report/report_table.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "config/report/finding_overview.h"
#include "config/report/repair_list.h"
#include "config/report/verdict.h"
#include "config/words/number_text.h"
#include "config/words/quoted_text.h"
#include "config/words/state_word.h"
#include "config/words/subject_text.h"
#include "config/words/words.h"

namespace clusterd {
namespace {

constexpr int kKeyColumns = 10;
// A one-line text is cut at 120 columns if the window's width is not known.
constexpr TableLayout kCutTable = {2, TableLayout::Last::kIsCut, 120};
constexpr TableLayout kWholeTable = {2, TableLayout::Last::kIsWrapped, 0};

// Limits of one table, unless it is verbose. Failing hosts are never cut.
constexpr size_t kFindings = 24;  // Then one of each rule that is left.
constexpr size_t kFindingsPerRule = 4;
constexpr int kSubjectGroups = 4;   // Per finding.
constexpr int kHostsColumns = 100;  // Folded names of one subject.
constexpr size_t kHostGroups = 10;  // Lines under "Hosts".
// The last screen of 24 lines has the answer: repairs, and the verdict.
constexpr int kRepairLines = 18;

using HostNames = std::set<std::string>;

// How many findings of each block to print: the first ones, at least one.
std::vector<size_t> Shown(const std::vector<FindingBlock>& blocks,
                          bool verbose) {
  std::vector<size_t> shown(blocks.size());
  size_t left = kFindings;
  // The worst blocks are last and take what they need.
  for (size_t i = blocks.size(); i-- > 0;) {
    const size_t all = blocks[i].findings.size();
    const size_t fits = std::min(kFindingsPerRule, std::max<size_t>(left, 1));
    shown[i] = verbose ? all : std::min(all, fits);
    left -= std::min(left, shown[i]);
  }
  return shown;
}

// Prints one report; lives for one call.
class ReportPrinter {
 public:
  ReportPrinter(const Report& report, const Style& style, bool verbose,
                std::ostream& out)
      : report_(report), verbose_(verbose), page_(style, out) {}

  void Print() {
    PrintHead();
    PrintFindings();
    PrintRules();
    PrintHosts();
    PrintRepairs();
    PrintSummary();
  }

 private:
  std::string Who(const Subjects& subjects) const {
    return SubjectsText(subjects, groups_, columns_);
  }
  Cell StateCell(State state) const {
    return {StateText(state, page_.style()), StatePaint(state)};
  }

  void PrintHead() {
    const auto names = Each<std::string>(report_.hosts(), &HostStatus::host);
    const std::string head = JoinParts(
        ", ", {report_.cluster().empty()
                   ? ""
                   : Say("report-cluster", page_.Strong(report_.cluster())),
               page_.Safe(report_.product()),
               names.empty() ? ""
                             : Say("report-hosts", Count(names.size(), "host"),
                                   page_.Safe(HostsText(names, columns_)))});
    if (!head.empty()) page_.Wrapped("", head);
    const std::string job = JobText(report_);
    if (!job.empty()) page_.Whole("", page_.Safe(job));
    page_.Optional("report-namespace", report_.network_namespace());
    page_.PrintNotes(report_.notes());
  }

  Row RuleRow(const RuleResult& rule) const {
    std::string text =
        rule.state() == SKIPPED ? rule.skip_reason() : rule.summary();
    if (IsTrouble(rule.state())) {  // How much it found, and its notes.
      text = Count(rule.findings_size(), "finding");
      for (const FindingValue& note : rule.notes()) {
        text = Say("summary-and-note", text, note);
      }
    }
    return {
        StateCell(rule.state()), {page_.Safe(rule.rule())}, {page_.Safe(text)}};
  }

  // One line for each category, in the report's order; when verbose, one for
  // each rule, worst first.
  void PrintRules() {
    FirstSeen<std::string, std::vector<const RuleResult*>> categories;
    FirstSeen<std::string, size_t> not_run;
    for (const RuleResult& rule : report_.rules()) {
      if (rule.not_run()) {
        ++not_run[rule.skip_reason()];
      } else {
        categories[verbose_ ? "" : rule.category()].push_back(&rule);
      }
    }
    std::vector<Row> rows;
    for (auto& [category, rules] : categories.items()) {
      if (!verbose_) {
        rows.push_back(
            {{page_.Safe(category.empty() ? Say("report-other") : category)},
             {CountsText(CountStates(rules))}});
        continue;
      }
      absl::c_stable_sort(rules, [](const RuleResult* a, const RuleResult* b) {
        return KnownState(a->state()) > KnownState(b->state());
      });
      for (const RuleResult* rule : rules) rows.push_back(RuleRow(*rule));
    }
    if (!rows.empty()) {
      page_.Title(Say(verbose_ ? "report-every-rule" : "report-rules"));
      page_.PrintTable(rows, kWholeTable);
    }
    if (!not_run.empty()) page_.out() << "\n";
    for (const auto& [why, count] : not_run) {
      page_.Wrapped(
          "  ", page_.Safe(Say("report-not-run", Count(count, "rule"), why)));
    }
  }

  void PrintHosts() {
    if (report_.hosts().empty()) return;
    const std::vector<std::string> failing = FailingHosts(report_);
    const HostNames fails(failing.begin(), failing.end());
    // Worst last; hosts of one state and one reason share a line. A host that
    // fails and has no facts is in both lines.
    std::map<std::pair<State, std::string>, std::vector<std::string>> groups;
    for (const HostStatus& host : report_.hosts()) {
      const std::string& reason = host.no_facts_reason();
      if (fails.count(host.host()) > 0 && reason.empty()) continue;
      const State state = KnownState(host.state());
      groups[{state == FAIL ? UNKNOWN : state, reason}].push_back(host.host());
    }
    if (!failing.empty()) groups[{FAIL, ""}] = failing;
    page_.Title(Say("report-hosts-title"));
    const size_t skipped =
        verbose_ ? 0 : groups.size() - std::min(groups.size(), kHostGroups);
    const auto first_shown = std::next(groups.begin(), skipped);
    size_t hidden = 0;
    for (auto group = groups.begin(); group != first_shown; ++group) {
      hidden += group->second.size();
    }
    if (hidden > 0) {
      page_.Whole("  ", Say("report-hidden-hosts", Count(hidden, "more host")));
    }
    for (auto group = first_shown; group != groups.end(); ++group) {
      const auto& [state, reason] = group->first;
      const bool whole = verbose_ || state == FAIL;
      const Row row = {
          StateCell(state),
          {page_.Safe(absl::StrCat(
              HostsText(group->second, whole ? kUnbounded : kHostsColumns),
              Part(": ", reason)))}};
      page_.PrintRow(row, ColumnWidths({row}), whole ? kWholeTable : kCutTable);
    }
  }

  void PrintField(const char* key, absl::string_view text) {
    if (text.empty()) return;
    page_.Wrapped(absl::StrCat("    ", Padded(Say(key), kKeyColumns)), text);
  }

  // `why`: empty if it has just been printed.
  void PrintFinding(const Finding& finding, absl::string_view why) {
    const std::string subjects = page_.Safe(Who(finding.subjects()));
    for (const std::string& line :
         WrapText(subjects, page_.style().width - 2)) {
      page_.out() << "  " << page_.Strong(line) << "\n";
    }
    // Observed text may quote a host: it never gets a second line. Our own
    // texts (why, fix) may have several.
    PrintField("report-found", page_.Safe(finding.observed()));
    PrintField("report-expected", page_.Safe(finding.expected()));
    PrintField("report-cause", page_.Safe(finding.caused_by()));
    PrintField("report-why", page_.SafeLines(why));
    PrintFix(finding);
  }

  // Words are wrapped; a command is unchanged, and further to the left if it
  // would not fit.
  void PrintFix(const Finding& finding) {
    std::string head =
        absl::StrCat("    ", Padded(Say("report-fix"), kKeyColumns));
    const std::string command = page_.SafeLines(finding.command());
    const int width = page_.style().width;
    const bool is_wide =
        width > 0 && TextColumns(head) + TextColumns(command) > width;
    if (!FixWords(finding).empty()) {
      page_.Wrapped(head, page_.SafeLines(FixWords(finding)));
      head = std::string(TextColumns(head), ' ');
    } else if (is_wide) {
      page_.out() << "    " << Say("report-fix") << "\n";
    }
    if (!command.empty()) page_.Whole(is_wide ? "    " : head, command);
  }

  void PrintBlock(const FindingBlock& block, size_t shown) {
    const bool downgraded = absl::c_all_of(
        block.findings,
        [](const Finding* finding) { return finding->downgraded(); });
    page_.out() << "\n"
                << StateLabel(block.state, page_.style()) << "  "
                << page_.Strong(block.rule)
                << (downgraded ? " " + Say("report-downgraded") : "") << "\n";
    absl::string_view said;
    for (size_t i = 0; i < shown; ++i) {
      const absl::string_view why = block.WhyOf(*block.findings[i]);
      PrintFinding(*block.findings[i], why == said ? "" : why);
      said = why;
    }
    Subjects rest;
    for (size_t i = shown; i < block.findings.size(); ++i) {
      for (const Subject& subject : block.findings[i]->subjects()) {
        rest.Add()->set_host(subject.host());
      }
    }
    if (shown < block.findings.size()) {
      page_.Wrapped(
          absl::StrCat("  ", Say("report-and")),
          page_.Safe(Say("report-more-findings",
                         Count(block.findings.size() - shown, "more finding"),
                         Who(rest))));
    }
    page_.out() << Painted(page_.style(), Paint::kDim,
                           absl::StrCat("  ", Say("report-explain",
                                                  page_.Safe(block.rule))))
                << "\n";
  }

  void PrintCause(const std::string& cause, const CauseGroup& group) {
    page_.out() << "\n";
    page_.Wrapped(
        absl::StrCat(StateText(group.state, page_.style()), "  "),
        page_.Safe(JoinParts(": ", {CauseText(cause, group, groups_, columns_),
                                    absl::StrJoin(group.rules, ", ")})),
        StatePaint(group.state));
  }

  void PrintFindings() {
    const FindingOverview overview = ArrangeFindings(report_, verbose_);
    const std::vector<size_t> shown = Shown(overview.blocks, verbose_);
    size_t i = shown.size();
    for (const State state : {FAIL, UNKNOWN, WARN}) {
      for (; i > 0 && overview.blocks[i - 1].state == state; --i) {
        PrintBlock(overview.blocks[i - 1], shown[i - 1]);
      }
      // Findings with a cause follow the known causes.
      for (const auto& [cause, group] : overview.causes) {
        if (group.state == state) PrintCause(cause, group);
      }
    }
  }

  // Worst first, as many as the last screen has lines for.
  void PrintRepairs() {
    const std::vector<Repair> repairs = ListRepairs(report_);
    if (repairs.empty()) return;
    page_.Title(Say("report-repairs"));
    const int window = page_.style().width;
    int used = 0;
    size_t left_out = 0;
    for (const Repair& repair : repairs) {
      const std::vector<std::string> lines =
          WrapText(absl::StrCat("  ", StateText(repair.state, page_.style()),
                                "  ", page_.Safe(RepairLine(repair))),
                   window > 0 ? std::max(window - 4, 20) : 0);
      for (const std::string& line : lines) {
        // A command may need several lines of the screen.
        used += window > 0 ? 1 + (TextColumns(line) + 3) / window : 1;
      }
      const bool fits =
          left_out == 0 &&
          used <= kRepairLines - (&repair == &repairs.back() ? 0 : 1);
      if (verbose_ || fits || &repair == &repairs.front()) {
        page_.out() << absl::StrJoin(lines, "\n    ") << "\n";
      } else {
        left_out += repair.causes;
      }
    }
    if (left_out > 0) {
      page_.out() << "  " << page_.Safe(MoreCauses(report_, left_out)) << "\n";
    }
  }

  void PrintSummary() {
    page_.out() << "\n";
    page_.Sentence(
        VerdictWord(report_), StatePaint(report_.verdict()),
        !report_.error().empty()
            ? report_.error()
            : Say("report-summary", CountsText(CountStates(report_.rules())),
                  Count(report_.rules_size(), "rule"),
                  Count(report_.hosts_size(), "host"),
                  ElapsedText(report_.elapsed_ms())));
  }

  const Report& report_;
  const bool verbose_;
  const int groups_ = verbose_ ? kUnbounded : kSubjectGroups;
  const int columns_ = verbose_ ? kUnbounded : kHostsColumns;
  Page page_;
};

// Limits of the one line.
constexpr size_t kReasons = 3;
constexpr int kReasonColumns = 100;
constexpr int kFailingColumns = 160;
constexpr int kErrorColumns = 300;

// True if it only says that these hosts are absent.
bool IsOnlyAbout(const HostNames& absent, const Subjects& subjects) {
  return !subjects.empty() &&
         absl::c_all_of(subjects, [&](const Subject& subject) {
           return absent.count(subject.host()) > 0;
         });
}

// Reasons for the verdict besides absent hosts, most important first.
std::vector<std::string> Reasons(const Report& report, State verdict) {
  HostNames absent;
  for (const auto& [why, hosts] : SilentHosts(report)) {
    absent.insert(hosts.begin(), hosts.end());
  }
  FindingOverview overview = ArrangeFindings(report);
  absl::c_stable_sort(overview.blocks,
                      [](const FindingBlock& a, const FindingBlock& b) {
                        return a.findings.front()->caused_by().empty() >
                               b.findings.front()->caused_by().empty();
                      });
  std::vector<std::string> reasons;
  for (const FindingBlock& block : overview.blocks) {
    const bool only_absent =
        block.state == UNKNOWN &&
        absl::c_all_of(block.findings, [&](const Finding* finding) {
          return IsOnlyAbout(absent, finding->subjects());
        });
    if (block.state != verdict || only_absent) continue;
    const Finding& first = *block.findings.front();
    reasons.push_back(absl::StrCat(block.rule, ": ",
                                   SubjectsText(first.subjects(), 1, 40),
                                   Part(": ", first.observed())));
  }
  for (const auto& [cause, group] : overview.causes) {
    // A failure's consequence is not printed beside it.
    const bool is_reported = verdict != UNKNOWN && !reasons.empty();
    if (group.state != verdict || is_reported ||
        IsOnlyAbout(absent, group.subjects)) {
      continue;
    }
    reasons.push_back(CauseText(cause, group, 1, 40));
  }
  return reasons;
}

}  // namespace

void PrintReportTable(const Report& report, const Style& style, bool verbose,
                      std::ostream& out) {
  ReportPrinter(report, style, verbose, out).Print();
}

std::string ReportShort(const Report& report, bool utf8) {
  const auto safe = [&](absl::string_view text, int columns) {
    return CutText(SafeText(text, utf8), columns, utf8);
  };
  const std::string name = JoinParts(
      ", ", {report.network_namespace().empty()
                 ? safe(ReportName(report), 40)
                 : Say("short-namespace", safe(ReportName(report), 40),
                       safe(report.network_namespace(), 60)),
             safe(JobName(report), 60)});
  const auto with_head = [&name](const std::string& line) {
    return name.empty() ? line : Say("short-head", name, line);
  };
  if (!report.error().empty()) {
    // Each mistake has its own line, and this is one line.
    const std::string error =
        absl::StrReplaceAll(report.error(), {{"\n", "; "}});
    return with_head(
        Say("short-counts", VerdictWord(report), safe(error, kErrorColumns)));
  }
  const State verdict = KnownState(report.verdict());
  const std::vector<std::string> failing =
      verdict == FAIL ? FailingHosts(report) : std::vector<std::string>();
  const std::string hosts =
      safe(HostsText(failing, kFailingColumns, "failing host"),
           kFailingColumns + 40);
  // A long list of hosts replaces one reason.
  const size_t most = TextColumns(hosts) > 40 ? kReasons - 1 : kReasons;
  const std::string counts = CountsText(CountStates(report.rules()));
  const std::string line = with_head(
      hosts.empty() ? Say("short-counts", VerdictWord(report), counts)
                    : Say("short-on", VerdictWord(report), hosts, counts));
  std::vector<std::string> reasons = Reasons(report, verdict);
  std::vector<std::string> absent =
      Each<std::string>(SilentHosts(report), [](const auto& silent) {
        return absl::StrCat(HostsText(silent.second, 40), ": ", silent.first);
      });
  const size_t all = reasons.size() + absent.size();
  // One group of absent hosts is always named.
  if (!absent.empty()) {
    reasons.resize(std::min(reasons.size(), most - 1));
    absent.resize(std::min(absent.size(), most - reasons.size()));
  }
  // For an unknown verdict absent hosts come first; a failure weighs more.
  reasons.insert(verdict == UNKNOWN ? reasons.begin() : reasons.end(),
                 absent.begin(), absent.end());
  reasons.resize(std::min(reasons.size(), most));
  const size_t hidden = all - reasons.size();
  for (std::string& reason : reasons) reason = safe(reason, kReasonColumns);
  if (hidden > 0) reasons.push_back(Say("list-and-more", hidden));
  return Say(
      "short-end", absl::StrCat(line, Part(": ", absl::StrJoin(reasons, "; "))),
      Count(report.hosts_size(), "host"), ElapsedText(report.elapsed_ms()));
}

}  // namespace clusterd
