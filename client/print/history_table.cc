#include "client/print/history_table.h"

#include <algorithm>
#include <array>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "client/print/terminal_text.h"

namespace clusterd {
namespace {

using Row = std::array<std::string, 6>;

std::string Summary(const HistoryEntry& entry) {
  std::vector<std::string> parts;
  if (!entry.summary().empty()) parts.push_back(entry.summary());
  if (!entry.network_namespace().empty()) {
    parts.push_back(absl::StrCat("in ", entry.network_namespace()));
  }
  if (!entry.parent_id().empty()) {
    parts.push_back(absl::StrCat(
        entry.kind() == HISTORY_ROLLBACK ? "of apply " : "of plan ",
        entry.parent_id()));
  }
  if (entry.force()) parts.push_back("forced");
  return absl::StrJoin(parts, "; ");
}

Paint OutcomePaint(const std::string& outcome) {
  if (outcome == "pass" || outcome == "succeeded" || outcome == "empty") {
    return Paint::kGreen;
  }
  if (outcome == "fail" || outcome == "stopped" || outcome == "blocked") {
    return Paint::kRed;
  }
  if (outcome == "unknown" || outcome == "interrupted") return Paint::kMagenta;
  return Paint::kYellow;
}

}  // namespace

std::string HistoryKindWord(HistoryKind kind) {
  switch (kind) {
    case HISTORY_CHECK:
      return "check";
    case HISTORY_PLAN:
      return "plan";
    case HISTORY_APPLY:
      return "apply";
    case HISTORY_ROLLBACK:
      return "rollback";
    default:
      return absl::StrCat("kind ", static_cast<int>(kind));
  }
}

std::string MomentText(int64_t unix_ms, absl::TimeZone zone) {
  return absl::FormatTime("%Y-%m-%d %H:%M:%S %Ez",
                          absl::FromUnixMillis(unix_ms), zone);
}

void PrintHistoryTable(const ListHistoryResponse& history, const Style& style,
                       absl::TimeZone zone, std::ostream& out) {
  std::vector<Row> rows = {{"ID", "WHEN", "WHO", "KIND", "OUTCOME", "SUMMARY"}};
  for (const HistoryEntry& entry : history.entries()) {
    const auto safe = [&](const std::string& text) {
      return SafeText(text, style.utf8);
    };
    rows.push_back({safe(entry.id()), MomentText(entry.started_at_ms(), zone),
                    safe(entry.actor()), HistoryKindWord(entry.kind()),
                    safe(entry.outcome()), safe(Summary(entry))});
  }
  std::array<int, 6> columns = {};
  for (const Row& row : rows) {
    for (size_t i = 0; i < row.size(); ++i) {
      columns[i] = std::max(columns[i], TextColumns(row[i]));
    }
  }
  for (size_t line = 0; line < rows.size(); ++line) {
    const Row& row = rows[line];
    std::string text;
    int used = 0;
    for (size_t i = 0; i + 1 < row.size(); ++i) {
      const std::string cell = Padded(row[i], columns[i]);
      Paint paint = line == 0 ? Paint::kBold : Paint::kNone;
      if (line > 0 && i == 4) paint = OutcomePaint(row[i]);
      absl::StrAppend(&text, Painted(style, paint, cell), "  ");
      used += columns[i] + 2;
    }
    const int rest =
        style.width > 0 ? std::max(style.width - used, 20) : columns.back();
    absl::StrAppend(&text, CutText(row.back(), std::max(rest, 4), style.utf8));
    out << absl::StripTrailingAsciiWhitespace(text) << "\n";
  }
  if (history.entries().empty()) out << "\nnothing yet\n";
}

std::string HistoryEntryLine(const HistoryEntry& entry, absl::TimeZone zone,
                             bool utf8) {
  const std::string summary = Summary(entry);
  return SafeText(
      absl::StrCat(HistoryKindWord(entry.kind()), " ", entry.id(), " by ",
                   entry.actor(), ", ", MomentText(entry.started_at_ms(), zone),
                   ": ", entry.outcome(), summary.empty() ? "" : ", ", summary),
      utf8);
}

}  // namespace clusterd
