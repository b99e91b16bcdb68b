#include "client/print/history_table.h"

#include <limits>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "config/report/finding_overview.h"
#include "config/report/report_diff.h"
#include "config/values/value_error.h"
#include "config/words/number_text.h"
#include "config/words/quoted_text.h"
#include "config/words/state_word.h"
#include "config/words/subject_text.h"

namespace clusterd {
namespace {

constexpr size_t kMostOfEach = 20;
constexpr int kWhoGroups = 3;
constexpr int kWhoColumns = 60;

std::string WordOf(State state) {
  return state == STATE_UNSPECIFIED ? Say("history-not-judged")
                                    : StateWord(state);
}

// "link node07 device 3: pass -> fail: link is DOWN", "…: fail -> pass, was:
// …".
std::string ChangeText(const ReportDiff::Change& change) {
  const bool is_wrong =
      change.after() != STATE_UNSPECIFIED && IsTrouble(change.after());
  return Say(
      change.before() == change.after() ? "history-still"
      : is_wrong                        ? "history-worse"
                                        : "history-was",
      change.rule(), SubjectsText(change.subjects(), kWhoGroups, kWhoColumns),
      WordOf(change.before()), WordOf(change.after()), change.observed());
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
  const bool is_shown =
      change.after() != STATE_UNSPECIFIED || change.before() == PASS;
  const State state = is_shown ? change.after() : SKIPPED;
  page.Wrapped(absl::StrCat("  ", StateSymbol(state, page.style().utf8), " "),
               page.Safe(ChangeText(change)), StatePaint(state));
  if (change.fix().empty()) return;
  page.Whole(Say("list-fix"), page.SafeLines(change.fix()));
}

// "2025-01-01 01:00 +01:00" in that zone, as long as a row allows.
constexpr char kMinute[] = "%Y-%m-%d %H:%M %Ez";
constexpr char kSecond[] = "%Y-%m-%d %H:%M:%S %Ez";
std::string MomentText(const char* format, int64_t unix_ms,
                       absl::TimeZone zone) {
  return absl::FormatTime(format, absl::FromUnixMillis(unix_ms), zone);
}

Row HeadRow(const char* words, const std::string& id, int64_t at_ms,
            State verdict, absl::TimeZone zone, const Page& page) {
  return {{Say(words)},
          {page.Safe(id)},
          {MomentText(kSecond, at_ms, zone)},
          {StateWord(KnownState(verdict)), StatePaint(verdict)}};
}

std::string SummaryOf(const ReportDiff& diff) {
  const std::string summary = DiffSummary(diff);
  return summary.empty() ? Say("history-unchanged") : summary;
}

Paint PaintOf(const ReportDiff& diff) {
  if (!ChangesOf(diff, Turn::kWorse).empty()) return Paint::kRed;
  if (!ChangesOf(diff, Turn::kNotJudged).empty() ||
      !ChangesOf(diff, Turn::kNew).empty()) {
    return Paint::kMagenta;
  }
  return Paint::kGreen;
}

void PrintHosts(const char* words,
                const google::protobuf::RepeatedPtrField<std::string>& hosts,
                Page& page) {
  if (hosts.empty()) return;
  page.Wrapped(Say(words), page.Safe(HostsText(hosts, 200)));
}

std::string Summary(const HistoryEntry& entry) {
  const bool of_apply = entry.kind() == HISTORY_ROLLBACK;
  return JoinParts(
      "; ", {entry.changes().empty()
                 ? ""
                 : Say("history-since", entry.changes(), entry.previous_id()),
             entry.summary(), SayPart("history-schedule", entry.schedule()),
             SayPart("history-namespace", entry.network_namespace()),
             SayPart(of_apply ? "history-of-apply" : "history-of-plan",
                     entry.parent_id()),
             entry.force() ? Say("history-forced") : ""});
}

// The states that outcomes of HistoryEntry stand for; all others are WARN.
constexpr std::pair<absl::string_view, State> kOutcomeStates[] = {
    {"pass", PASS},          {"succeeded", PASS},  {"confirmed", PASS},
    {"empty", PASS},         {"fail", FAIL},       {"stopped", FAIL},
    {"blocked", FAIL},       {"unknown", UNKNOWN}, {"cancelled", UNKNOWN},
    {"interrupted", UNKNOWN}};

Paint OutcomePaint(const std::string& outcome) {
  const auto* const found = absl::c_find_if(
      kOutcomeStates, [&](const auto& each) { return each.first == outcome; });
  return StatePaint(found == std::end(kOutcomeStates) ? WARN : found->second);
}

// The least columns for a summary in the row; with less room it goes below.
constexpr int kSummaryColumns = 30;
constexpr int kActorColumns = 12;  // For an actor in the row.

// Two lines per entry: 80 columns are too narrow for one.
void PrintNarrow(std::vector<Row> rows, Page& page) {
  std::vector<std::string> summaries;
  for (Row& row : rows) {
    summaries.push_back(std::exchange(row.back().text, ""));
    row[2].text = CutText(row[2].text, kActorColumns, page.style().utf8);
  }
  const std::vector<int> columns = ColumnWidths(rows);
  for (size_t i = 0; i < rows.size(); ++i) {
    page.PrintRow(rows[i], columns, {});
    if (i > 0 && !summaries[i].empty()) page.Wrapped("  ", summaries[i]);
  }
}

}  // namespace

void PrintChanges(const ReportDiff& diff, size_t most, Page& page) {
  for (const TurnRow& row : kTurns) {
    const auto changes = ChangesOf(diff, row.turn);
    if (changes.empty()) continue;
    page.Title(Say(row.words, changes.size()));
    for (size_t i = 0; i < changes.size() && i < most; ++i) {
      PrintChange(*changes[i], page);
    }
    if (changes.size() > most) {
      page.Whole("  ", Say("list-and-more", changes.size() - most));
    }
  }
}

void PrintDiffTable(const ReportDiff& diff, const Style& style, bool verbose,
                    absl::TimeZone zone, std::ostream& out) {
  Page page(style, out);
  page.PrintTable(
      {HeadRow("history-before", diff.before_run_id(), diff.before_at_ms(),
               diff.before_verdict(), zone, page),
       HeadRow("history-after", diff.after_run_id(), diff.after_at_ms(),
               diff.after_verdict(), zone, page)},
      {});
  PrintChanges(diff, verbose ? std::numeric_limits<size_t>::max() : kMostOfEach,
               page);
  out << "\n";
  PrintHosts("history-hosts-added", diff.hosts_added(), page);
  PrintHosts("history-hosts-removed", diff.hosts_removed(), page);
  page.PrintNotes(DiffNotes(diff));
  out << Painted(style, PaintOf(diff),
                 Painted(style, Paint::kBold, SummaryOf(diff)))
      << "\n";
}

std::string DiffShort(const ReportDiff& diff) {
  return SafeText(Say("history-diff", diff.before_run_id(), diff.after_run_id(),
                      SummaryOf(diff)),
                  /*utf8=*/true);
}

FindingValue HistoryKindWords(HistoryKind kind) {
  constexpr const char* kWords[] = {"history-check", "history-plan",
                                    "history-apply", "history-rollback"};
  return kind >= HISTORY_CHECK && kind <= HISTORY_ROLLBACK
             ? Worded(kWords[kind - HISTORY_CHECK])
             : Worded("history-other-kind", static_cast<int>(kind));
}

std::string OutcomeText(const std::string& outcome) {
  const std::string row = absl::StrCat(
      "history-outcome-", absl::StrReplaceAll(outcome, {{" ", "-"}}));
  return FindWords(row) == nullptr ? outcome : Say(row);
}

void PrintHistoryTable(const ListHistoryResponse& history, const Style& style,
                       absl::TimeZone zone, std::ostream& out) {
  Page page(style, out);
  std::vector<Row> rows = {TitleRow(Say("history-titles"))};
  for (const HistoryEntry& entry : history.entries()) {
    rows.push_back({{page.Safe(entry.id())},
                    {MomentText(kMinute, entry.started_at_ms(), zone)},
                    {page.Safe(ActorName(entry.actor()))},
                    {ValueText(HistoryKindWords(entry.kind()))},
                    {page.Safe(OutcomeText(entry.outcome())),
                     OutcomePaint(entry.outcome())},
                    {page.Safe(Summary(entry))}});
  }
  int used = 0;
  for (const int column : ColumnWidths(rows)) used += column + 2;
  if (style.width > 0 && used + kSummaryColumns > style.width) {
    PrintNarrow(std::move(rows), page);
  } else {
    page.PrintTable(rows, {0, TableLayout::Last::kIsCut});
  }
  if (history.entries().empty()) out << "\n" << Say("history-none") << "\n";
}

std::string HistoryEntryLine(const HistoryEntry& entry, absl::TimeZone zone) {
  return SafeText(
      Say("history-entry", HistoryKindWords(entry.kind()), entry.id(),
          ActorName(entry.actor()),
          MomentText(kSecond, entry.started_at_ms(), zone),
          JoinParts(", ", {OutcomeText(entry.outcome()), Summary(entry)})),
      /*utf8=*/true);
}

}  // namespace clusterd
