#include "client/print/history_table.h"

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "config/words/number_text.h"
#include "config/words/quoted_text.h"
#include "config/words/subject_text.h"
#include "config/words/terminal.h"

namespace clusterd {
namespace {

std::string Summary(const HistoryEntry& entry) {
  const bool of_apply = entry.kind() == HISTORY_ROLLBACK;
  return JoinParts(
      "; ", {entry.changes().empty() ? ""
                                     : absl::StrCat(entry.changes(), " since ",
                                                    entry.previous_id()),
             entry.summary(), Part("by schedule ", entry.schedule()),
             Part("in ", entry.network_namespace()),
             Part(of_apply ? "of apply " : "of plan ", entry.parent_id()),
             entry.force() ? "forced" : ""});
}

Paint OutcomePaint(const std::string& outcome) {
  constexpr std::pair<absl::string_view, Paint> kPaints[] = {
      {"pass", Paint::kGreen},       {"succeeded", Paint::kGreen},
      {"empty", Paint::kGreen},      {"fail", Paint::kRed},
      {"stopped", Paint::kRed},      {"blocked", Paint::kRed},
      {"unknown", Paint::kMagenta},  {"interrupted", Paint::kMagenta},
      {"cancelled", Paint::kMagenta}};
  for (const auto& [word, paint] : kPaints) {
    if (outcome == word) return paint;
  }
  return Paint::kYellow;
}

// "2025-01-01 01:00 +01:00" in that zone, which a row has room for.
constexpr char kMinute[] = "%Y-%m-%d %H:%M %Ez";
constexpr char kSecond[] = "%Y-%m-%d %H:%M:%S %Ez";
std::string MomentText(const char* format, int64_t unix_ms,
                       absl::TimeZone zone) {
  return absl::FormatTime(format, absl::FromUnixMillis(unix_ms), zone);
}

// Columns that a summary is worth a place in the row with; else it stands
// below.
constexpr int kSummaryColumns = 30;
constexpr int kActorColumns = 12;  // Where it does.

// In two lines each: 80 columns have no room for all of an entry.
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

std::string HistoryKindWord(HistoryKind kind) {
  constexpr const char* kWords[] = {"check", "plan", "apply", "rollback"};
  return kind >= HISTORY_CHECK && kind <= HISTORY_ROLLBACK
             ? kWords[kind - HISTORY_CHECK]
             : absl::StrCat("kind ", static_cast<int>(kind));
}

void PrintHistoryTable(const ListHistoryResponse& history, const Style& style,
                       absl::TimeZone zone, std::ostream& out) {
  Page page(style, out);
  std::vector<Row> rows(1);
  for (const char* title :
       {"ID", "WHEN", "WHO", "KIND", "OUTCOME", "SUMMARY"}) {
    rows[0].push_back({title, Paint::kBold});
  }
  for (const HistoryEntry& entry : history.entries()) {
    rows.push_back({{page.Safe(entry.id())},
                    {MomentText(kMinute, entry.started_at_ms(), zone)},
                    {page.Safe(ActorName(entry.actor()))},
                    {HistoryKindWord(entry.kind())},
                    {page.Safe(entry.outcome()), OutcomePaint(entry.outcome())},
                    {page.Safe(Summary(entry))}});
  }
  int used = 0;
  for (const int column : ColumnWidths(rows)) used += column + 2;
  if (style.width > 0 && used + kSummaryColumns > style.width) {
    PrintNarrow(std::move(rows), page);
  } else {
    page.PrintTable(rows, {0, TableLayout::Last::kIsCut});
  }
  if (history.entries().empty()) out << "\nnothing yet\n";
}

std::string HistoryEntryLine(const HistoryEntry& entry, absl::TimeZone zone,
                             bool utf8) {
  return SafeText(
      absl::StrCat(HistoryKindWord(entry.kind()), " ", entry.id(), " by ",
                   ActorName(entry.actor()), ", ",
                   MomentText(kSecond, entry.started_at_ms(), zone), ": ",
                   entry.outcome(), Part(", ", Summary(entry))),
      utf8);
}

}  // namespace clusterd
