#include "client/print/diff_table.h"

#include <limits>
#include <vector>

#include "absl/strings/str_cat.h"
#include "config/report/report_diff.h"
#include "config/words/number_text.h"
#include "config/words/quoted_text.h"
#include "config/words/state_word.h"
#include "config/words/subject_text.h"

namespace clusterd {
namespace {

constexpr size_t kMostOfEach = 20;
constexpr int kWhoGroups = 3;
constexpr int kWhoColumns = 60;

struct TurnRow {
  Turn turn;
  const char* words;  // Behind a number.
};
constexpr TurnRow kTurns[] = {{Turn::kWorse, "worse"},
                              {Turn::kMended, "mended"},
                              {Turn::kOtherwise, "otherwise"},
                              {Turn::kNotJudged, "not judged"}};

const char* WordOf(State state) {
  return state == STATE_UNSPECIFIED ? "not judged" : StateWord(state);
}

// "link node07 device 3: pass -> fail: link is DOWN".
std::string ChangeText(const ReportDiff::Change& change) {
  const std::string turn =
      change.before() == change.after()
          ? absl::StrCat("still ", WordOf(change.after()), ", otherwise")
          : absl::StrCat(WordOf(change.before()), " -> ",
                         WordOf(change.after()));
  return absl::StrCat(change.rule(), " ",
                      SubjectsText(change.subjects(), kWhoGroups, kWhoColumns),
                      ": ", turn, Part(": ", change.observed()));
}

std::vector<const ReportDiff::Change*> ChangesOf(const ReportDiff& diff,
                                                 Turn turn) {
  std::vector<const ReportDiff::Change*> changes;
  for (const ReportDiff::Change& change : diff.changes()) {
    if (TurnOf(change) == turn) changes.push_back(&change);
  }
  return changes;
}

void PrintChange(const ReportDiff::Change& change, Page& page) {
  const bool is_told =
      change.after() != STATE_UNSPECIFIED || change.before() == PASS;
  const State state = is_told ? change.after() : SKIPPED;
  page.Wrapped(absl::StrCat("  ", StateSymbol(state, page.style().utf8), " "),
               page.Safe(ChangeText(change)), StatePaint(state));
  if (change.fix().empty() || TurnOf(change) == Turn::kNotJudged) return;
  page.Whole("    fix: ", page.SafeLines(change.fix()));
}

Row HeadRow(const char* word, const std::string& id, int64_t at_ms,
            State verdict, absl::TimeZone zone, const Page& page) {
  return {{word},
          {page.Safe(id)},
          {absl::FormatTime("%Y-%m-%d %H:%M:%S %Ez",
                            absl::FromUnixMillis(at_ms), zone)},
          {StateWord(KnownState(verdict)), StatePaint(verdict)}};
}

std::string SummaryOf(const ReportDiff& diff) {
  const std::string summary = DiffSummary(diff);
  return summary.empty() ? "nothing has changed" : summary;
}

Paint PaintOf(const ReportDiff& diff) {
  if (!ChangesOf(diff, Turn::kWorse).empty()) return Paint::kRed;
  if (!ChangesOf(diff, Turn::kNotJudged).empty()) return Paint::kMagenta;
  return Paint::kGreen;
}

void PrintHosts(const char* what,
                const google::protobuf::RepeatedPtrField<std::string>& hosts,
                Page& page) {
  if (hosts.empty()) return;
  const std::vector<std::string> names(hosts.begin(), hosts.end());
  page.Wrapped(absl::StrCat(what, " "), page.Safe(HostsText(names, 200)));
}

}  // namespace

void PrintChanges(const ReportDiff& diff, size_t most, Page& page) {
  for (const TurnRow& row : kTurns) {
    const auto changes = ChangesOf(diff, row.turn);
    if (changes.empty()) continue;
    page.Title(absl::StrCat(changes.size(), " ", row.words));
    for (size_t i = 0; i < changes.size() && i < most; ++i) {
      PrintChange(*changes[i], page);
    }
    if (changes.size() > most) {
      page.out() << "  and " << changes.size() - most << " more\n";
    }
  }
}

void PrintDiffTable(const ReportDiff& diff, const Style& style, bool verbose,
                    absl::TimeZone zone, std::ostream& out) {
  Page page(style, out);
  page.PrintTable({HeadRow("before", diff.before_run_id(), diff.before_at_ms(),
                           diff.before_verdict(), zone, page),
                   HeadRow("after", diff.after_run_id(), diff.after_at_ms(),
                           diff.after_verdict(), zone, page)},
                  {});
  PrintChanges(diff, verbose ? std::numeric_limits<size_t>::max() : kMostOfEach,
               page);
  out << "\n";
  PrintHosts("hosts added:", diff.hosts_added(), page);
  PrintHosts("hosts removed:", diff.hosts_removed(), page);
  page.PrintNotes(diff.notes());
  out << Painted(style, PaintOf(diff),
                 Painted(style, Paint::kBold, SummaryOf(diff)))
      << "\n";
}

std::string DiffShort(const ReportDiff& diff, bool utf8) {
  return SafeText(absl::StrCat(diff.before_run_id(), " to ",
                               diff.after_run_id(), ": ", SummaryOf(diff)),
                  utf8);
}

}  // namespace clusterd
