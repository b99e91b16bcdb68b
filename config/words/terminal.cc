#include "config/words/terminal.h"

#include <algorithm>
#include <cstdint>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "config/words/quoted_text.h"

namespace clusterd {
namespace {

bool LocaleIsUtf8(const Environment& environment) {
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    const std::string value = ValueOf(environment, name);
    if (value.empty()) continue;
    const std::string lower = absl::AsciiStrToLower(value);
    return absl::StrContains(lower, "utf-8") ||
           absl::StrContains(lower, "utf8");
  }
  return false;
}

// Every byte but the continuation bytes of UTF-8.
bool BeginsCharacter(char c) {
  return (static_cast<uint8_t>(c) & 0xc0) != 0x80;
}

}  // namespace

std::string ValueOf(const Environment& environment, const char* name) {
  const auto it = environment.find(name);
  return it == environment.end() ? "" : it->second;
}

Language LanguageOf(const Environment& environment) {
  if (!LocaleIsUtf8(environment)) return Language::kEnglish;
  for (const char* name : {"CLUSTERD_LANG", "LC_ALL", "LC_MESSAGES", "LANG"}) {
    const std::string value = ValueOf(environment, name);
    if (value.empty()) continue;
    const std::string word = value.substr(0, value.find_first_of("_.@-"));
    return word == "zh" ? Language::kChinese : Language::kEnglish;
  }
  return Language::kEnglish;
}

Style StyleOf(bool Terminal::*is_terminal, const Terminal& terminal,
              const Environment& environment, ColorMode mode) {
  const bool shows = terminal.*is_terminal;
  const bool dumb = ValueOf(environment, "TERM") == "dumb";
  Style style;
  style.utf8 = LocaleIsUtf8(environment);
  style.language = LanguageOf(environment);
  style.width = shows ? terminal.width : 0;
  style.rewrites = shows && !dumb;
  style.color = mode == ColorMode::kAlways ||
                (mode == ColorMode::kAuto && shows && !dumb &&
                 ValueOf(environment, "NO_COLOR").empty());
  return style;
}

std::string Painted(const Style& style, Paint paint, absl::string_view text) {
  if (!style.color || paint == Paint::kNone || text.empty()) {
    return std::string(text);
  }
  // In the order of Paint.
  constexpr int kCodes[] = {0, 1, 2, 32, 33, 31, 35};
  return absl::StrCat("\x1b[", kCodes[static_cast<int>(paint)], "m", text,
                      "\x1b[0m");
}

std::string CutText(absl::string_view text, int columns, bool utf8) {
  if (TextColumns(text) <= columns) return std::string(text);
  const absl::string_view mark = utf8 ? "…" : "...";
  const int kept = columns - TextColumns(mark);
  size_t end = 0;
  for (int seen = 0; end < text.size(); ++end) {
    if (BeginsCharacter(text[end]) && seen++ == kept) break;
  }
  return absl::StrCat(text.substr(0, end), mark);
}

int TextColumns(absl::string_view text) {
  return static_cast<int>(
      std::count_if(text.begin(), text.end(), BeginsCharacter));
}

std::string Padded(absl::string_view text, int columns) {
  const int missing = columns - TextColumns(text);
  return absl::StrCat(text, std::string(std::max(missing, 0), ' '));
}

std::vector<std::string> WrapText(absl::string_view text, int columns) {
  if (columns <= 0) return {std::string(text)};
  std::vector<std::string> lines(1);
  while (!text.empty()) {
    // A word with the spaces before it, which vanish where a line breaks.
    const size_t word = std::min(text.find_first_not_of(' '), text.size());
    size_t end = std::min(text.find(' ', word), text.size());
    const absl::string_view first = text.substr(0, end);
    if (std::count(first.begin(), first.end(), '`') % 2 == 1) {
      // Without a second one it begins no command.
      const size_t close = text.find('`', end);
      if (close != text.npos)
        end = std::min(text.find(' ', close), text.size());
    }
    const absl::string_view piece = text.substr(0, end);
    if (!lines.back().empty() &&
        TextColumns(lines.back()) + TextColumns(piece) > columns) {
      lines.push_back(std::string(text.substr(word, end - word)));
    } else {
      absl::StrAppend(&lines.back(), piece);
    }
    text.remove_prefix(end);
  }
  return lines;
}

std::string Page::Safe(absl::string_view text) const {
  return SafeText(text, style_.utf8);
}

std::string Page::Strong(absl::string_view text) const {
  return Painted(style_, Paint::kBold, Safe(text));
}

std::string Page::SafeLines(absl::string_view text) const {
  return clusterd::SafeLines(text, style_.utf8);
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
  std::vector<std::string> lines;
  // Further lines of the text stand further in: none looks like ours.
  for (const absl::string_view paragraph : absl::StrSplit(text, '\n')) {
    const std::string whole = absl::StrCat(
        lines.empty() ? absl::StrCat(word, ": ") : "  ", Safe(paragraph));
    for (std::string& line : WrapText(whole, style_.width)) {
      lines.push_back(std::move(line));
    }
  }
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
