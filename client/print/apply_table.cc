#include "client/print/apply_table.h"

#include <algorithm>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "client/print/apply_verdict.h"
#include "config/words/first_met.h"
#include "config/words/number_text.h"
#include "config/words/page.h"
#include "config/words/quoted_text.h"
#include "config/words/state_word.h"
#include "config/words/subject_text.h"
#include "config/words/terminal_text.h"

namespace clusterd {
namespace {

constexpr int kKeyColumns = 7;

// "2 steps, 1 was so already"; empty if no step was done.
std::string StepsText(const ApplyResult& result) {
  size_t done = 0;
  size_t already = 0;
  for (const StepOutcome& step : result.steps()) {
    if (step.state() == StepOutcome::DONE) ++done;
    if (step.state() == StepOutcome::ALREADY_SO) ++already;
  }
  std::vector<std::string> parts;
  if (done > 0) parts.push_back(Count(done, "step"));
  if (already > 0) parts.push_back(absl::StrCat(already, " was so already"));
  return absl::StrJoin(parts, ", ");
}

// What stands behind the host: why it did not end well, else what was done. The
// daemon names its host in front, which would keep hosts from folding.
std::string EndText(const ApplyResult& result) {
  if (result.error().empty()) return StepsText(result);
  absl::string_view error = result.error();
  absl::ConsumePrefix(&error, absl::StrCat(result.host(), ": "));
  return std::string(error);
}

struct Detail {
  const char* key;
  std::string text;
};

// What a person must know of one host besides its end.
std::vector<Detail> DetailsOf(const ApplyResult& result) {
  std::vector<Detail> details;
  for (const StepOutcome& step : result.steps()) {
    if (step.detail().empty() ||
        absl::StrContains(result.error(), step.detail()))
      continue;
    details.push_back(
        {"step", absl::StrCat(step.step(), " ", StepWord(step.state()), ": ",
                              step.detail())});
  }
  for (const std::string& residue : result.residues()) {
    details.push_back({"residue", residue});
  }
  for (const std::string& forced : result.forced()) {
    details.push_back({"forced", forced});
  }
  return details;
}

struct HostGroup {
  State state = UNKNOWN;
  std::string word;
  std::string text;
  std::vector<Detail> details;
  std::vector<std::string> hosts;
};

// SKIPPED tells less than PASS, so that what failed stands last.
int Order(State state) {
  return state == SKIPPED ? 0 : static_cast<int>(state);
}

std::vector<HostGroup> GroupHosts(const ApplyReport& report) {
  using Key = std::tuple<std::string, std::string, std::string>;
  FirstMet<Key, HostGroup> groups;
  for (const ApplyResult& host : report.hosts()) {
    const std::vector<Detail> details = DetailsOf(host);
    const std::string folded = absl::StrJoin(
        details, "\n", [](std::string* out, const Detail& detail) {
          absl::StrAppend(out, detail.key, " ", detail.text);
        });
    HostGroup& group =
        groups[Key{OutcomeWord(host.outcome()), EndText(host), folded}];
    group.state = HostEnd(host.outcome(), report.rollback());
    group.word = OutcomeWord(host.outcome());
    group.text = EndText(host);
    group.details = details;
    group.hosts.push_back(host.host());
  }
  std::vector<HostGroup> sorted;
  for (auto& [key, group] : groups.items()) sorted.push_back(std::move(group));
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const HostGroup& a, const HostGroup& b) {
                     return Order(a.state) < Order(b.state);
                   });
  return sorted;
}

// "10 applied, 1 undone of 11 hosts in 12 s".
std::string CountsLine(const ApplyReport& report) {
  FirstMet<std::string, size_t> counts;
  for (const HostGroup& group : GroupHosts(report)) {
    counts[group.word] += group.hosts.size();
  }
  std::string text =
      absl::StrJoin(counts, ", ", [](std::string* out, const auto& count) {
        absl::StrAppend(out, count.second, " ", count.first);
      });
  absl::StrAppend(&text, text.empty() ? "" : " of ",
                  Count(report.hosts_size(), "host"));
  if (report.elapsed_ms() == 0) return text;
  return absl::StrCat(text, " in ", ElapsedText(report.elapsed_ms()));
}

std::string RunText(const ApplyReport& report) {
  std::string text = absl::StrCat(report.rollback() ? "rollback" : "apply");
  if (!report.run_id().empty()) absl::StrAppend(&text, " ", report.run_id());
  if (report.rollback() && !report.apply_id().empty()) {
    absl::StrAppend(&text, " of apply ", report.apply_id());
  } else if (!report.plan_id().empty()) {
    absl::StrAppend(&text, " of plan ", report.plan_id());
  }
  if (!report.actor().empty()) absl::StrAppend(&text, " by ", report.actor());
  if (report.enforced()) absl::StrAppend(&text, " (enforce in the spec)");
  if (report.force()) absl::StrAppend(&text, ", forced");
  return text;
}

std::string EndMark(State state, const std::string& word, bool utf8) {
  return absl::StrCat(StateSymbol(state, utf8), " ", word);
}

void PrintDetails(const std::vector<Detail>& details, size_t limit,
                  Page& page) {
  for (size_t i = 0; i < details.size() && i < limit; ++i) {
    page.Wrapped(
        absl::StrCat("    ", Padded(details[i].key, kKeyColumns), "  "),
        page.Safe(details[i].text));
  }
  if (details.size() > limit) {
    page.out() << "    and " << details.size() - limit
               << " more; -o json has all\n";
  }
}

void PrintHosts(const ApplyReport& report, const ApplyLimits& limits,
                Page& page) {
  const std::vector<HostGroup> groups = GroupHosts(report);
  if (groups.empty()) return;
  page.Title("Hosts");
  const size_t hidden = groups.size() - std::min(groups.size(), limits.groups);
  if (hidden > 0) {
    page.out() << "  " << hidden << " more groups; -o json has all\n";
  }
  std::vector<Row> rows;
  for (size_t i = hidden; i < groups.size(); ++i) {
    const HostGroup& group = groups[i];
    rows.push_back({{EndMark(group.state, group.word, page.style().utf8),
                     StatePaint(group.state)},
                    {page.Safe(HostsText(group.hosts, limits.hosts_columns))}});
    if (!group.text.empty()) rows.back().push_back({page.Safe(group.text)});
  }
  const std::vector<int> columns = ColumnWidths(rows);
  for (size_t i = hidden; i < groups.size(); ++i) {
    page.PrintRow(rows[i - hidden], columns,
                  {/*indent=*/2, TableLayout::Last::kIsWrapped});
    PrintDetails(groups[i].details, limits.lines, page);
  }
}

}  // namespace

void PrintApplyTable(const ApplyReport& report, const Style& style,
                     std::ostream& out, const ApplyLimits& limits) {
  Page page(style, out);
  if (!report.cluster().empty()) {
    out << "Cluster " << page.Strong(report.cluster()) << ", ";
  }
  out << page.Safe(RunText(report)) << "\n";
  page.PrintNotes(report.notes());
  PrintHosts(report, limits, page);
  out << "\n";
  page.Sentence(RunWord(report), StatePaint(SupportedVerdict(report)),
                CountsLine(report));
  if (limits.rollback_hint && LeftChanges(report) &&
      !report.apply_id().empty()) {
    page.Whole("take it back with: clusterctl rollback ",
               page.Safe(report.apply_id()));
  }
}

std::string ApplyShort(const ApplyReport& report, bool utf8) {
  return SafeText(
      absl::StrCat(report.cluster().empty() ? "cluster" : report.cluster(),
                   ": ", report.rollback() ? "rollback" : "apply",
                   report.run_id().empty() ? "" : " ", report.run_id(), " ",
                   RunWord(report), ": ", CountsLine(report)),
      utf8);
}

std::string HostEndLine(const ApplyResult& result, bool rollback,
                        const Style& style) {
  const State state = HostEnd(result.outcome(), rollback);
  std::vector<std::string> parts = {
      Painted(style, StatePaint(state),
              EndMark(state, OutcomeWord(result.outcome()), style.utf8)),
      SafeText(result.host(), style.utf8)};
  const std::string text = SafeText(EndText(result), style.utf8);
  if (!text.empty()) parts.push_back(text);
  std::string line = absl::StrJoin(parts, "  ");
  if (result.elapsed_ms() > 0) {
    absl::StrAppend(&line, " (", ElapsedText(result.elapsed_ms()), ")");
  }
  return line;
}

}  // namespace clusterd
