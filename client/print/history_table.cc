#include "client/print/history_table.h"

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "config/words/number_text.h"
#include "config/words/quoted_text.h"
#include "config/words/terminal.h"

namespace clusterd {
namespace {

std::string Summary(const HistoryEntry& entry) {
  const bool of_apply = entry.kind() == HISTORY_ROLLBACK;
  return JoinParts(
      "; ", {entry.summary(), Part("in ", entry.network_namespace()),
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

// "2025-01-01 01:00:00 +01:00" in that zone.
std::string MomentText(int64_t unix_ms, absl::TimeZone zone) {
  return absl::FormatTime("%Y-%m-%d %H:%M:%S %Ez",
                          absl::FromUnixMillis(unix_ms), zone);
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
                    {MomentText(entry.started_at_ms(), zone)},
                    {page.Safe(entry.actor())},
                    {HistoryKindWord(entry.kind())},
                    {page.Safe(entry.outcome()), OutcomePaint(entry.outcome())},
                    {page.Safe(Summary(entry))}});
  }
  page.PrintTable(rows, {0, TableLayout::Last::kIsCut});
  if (history.entries().empty()) out << "\nnothing yet\n";
}

std::string HistoryEntryLine(const HistoryEntry& entry, absl::TimeZone zone,
                             bool utf8) {
  return SafeText(
      absl::StrCat(HistoryKindWord(entry.kind()), " ", entry.id(), " by ",
                   entry.actor(), ", ", MomentText(entry.started_at_ms(), zone),
                   ": ", entry.outcome(), Part(", ", Summary(entry))),
      utf8);
}

}  // namespace clusterd
