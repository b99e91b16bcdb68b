#include "config/words/page.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "config/words/quoted_text.h"
#include "config/words/terminal.h"

namespace clusterd {

std::string Page::Safe(absl::string_view text) const {
  return SafeText(text, style_.utf8);
}

std::string Page::Strong(absl::string_view text) const {
  return Painted(style_, Paint::kBold, Safe(text));
}

std::string Page::SafeLines(absl::string_view text) const {
  std::vector<std::string> lines;
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    lines.push_back(Safe(line));
  }
  return absl::StrJoin(lines, "\n");
}

void Page::Title(absl::string_view title) {
  out_ << "\n" << Strong(title) << "\n";
}

int Page::ColumnsAfter(int used) const {
  return style_.width > 0 ? std::max(style_.width - used, 20) : 0;
}

void Page::Lines(absl::string_view head, absl::string_view text, Paint paint,
                 int columns) {
  std::string before = Painted(style_, paint, head);
  for (const absl::string_view paragraph : absl::StrSplit(text, '\n')) {
    for (const std::string& line : WrapText(paragraph, columns)) {
      out_ << before << line << "\n";
      before = std::string(TextColumns(head), ' ');
    }
  }
}

void Page::Wrapped(absl::string_view head, absl::string_view text,
                   Paint paint) {
  Lines(head, text, paint, ColumnsAfter(TextColumns(head)));
}

void Page::Whole(absl::string_view head, absl::string_view text) {
  Lines(head, text, Paint::kNone, 0);
}

void Page::Sentence(const std::string& word, Paint paint,
                    absl::string_view text) {
  std::vector<std::string> lines =
      WrapText(absl::StrCat(word, ": ", Safe(text)), style_.width);
  // Painted after wrapping: colour codes take no columns. The word may have
  // been wrapped too in a very narrow window.
  if (paint != Paint::kNone && absl::StartsWith(lines[0], word)) {
    lines[0] = absl::StrCat(
        Painted(style_, paint, Painted(style_, Paint::kBold, word)),
        lines[0].substr(word.size()));
  }
  out_ << absl::StrJoin(lines, "\n") << "\n";
}

void Page::PrintRow(const Row& row, const std::vector<int>& columns,
                    const TableLayout& layout) {
  std::string line(layout.indent, ' ');
  int used = layout.indent;
  for (size_t i = 0; i + 1 < row.size(); ++i) {
    absl::StrAppend(
        &line, Painted(style_, row[i].paint, Padded(row[i].text, columns[i])),
        "  ");
    used += columns[i] + 2;
  }
  const auto print = [&](absl::string_view text) {
    absl::StrAppend(&line, Painted(style_, row.back().paint, text));
    out_ << absl::StripTrailingAsciiWhitespace(line) << "\n";
    line = std::string(used, ' ');
  };
  const std::string& text = row.back().text;
  int left = ColumnsAfter(used);
  switch (layout.last) {
    case TableLayout::Last::kStays:
      print(text);
      break;
    case TableLayout::Last::kIsCut:
      if (left == 0 && layout.unknown_width > 0) {
        left = std::max(layout.unknown_width - used, 20);
      }
      print(left > 0 ? CutText(text, left, style_.utf8) : text);
      break;
    case TableLayout::Last::kIsWrapped:
      for (const std::string& part : WrapText(text, left)) print(part);
      break;
  }
}

void Page::PrintTable(const std::vector<Row>& rows, const TableLayout& layout) {
  const std::vector<int> columns = ColumnWidths(rows);
  for (const Row& row : rows) PrintRow(row, columns, layout);
}

std::vector<int> ColumnWidths(const std::vector<Row>& rows) {
  std::vector<int> columns;
  for (const Row& row : rows) {
    columns.resize(std::max(columns.size(), row.size()));
    for (size_t i = 0; i + 1 < row.size(); ++i) {
      columns[i] = std::max(columns[i], TextColumns(row[i].text));
    }
  }
  return columns;
}

}  // namespace clusterd
