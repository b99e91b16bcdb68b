#include "config/words/terminal.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "config/words/quoted_text.h"
#include "config/words/words.h"
#include "utf8proc.h"

namespace clusterd {
namespace {

thread_local Language current_language = Language::kEnglish;

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

struct Glyph {
  size_t bytes;
  utf8proc_int32_t code;
  int columns;
};

// The first one. A byte that is not UTF-8 counts as one. REQUIRES: not empty.
Glyph FirstGlyph(absl::string_view text) {
  const auto* const bytes =
      reinterpret_cast<const utf8proc_uint8_t*>(text.data());
  utf8proc_int32_t code = *bytes;
  if (code < 0x80) return {1, code, 1};
  const utf8proc_ssize_t size = utf8proc_iterate(
      bytes, static_cast<utf8proc_ssize_t>(text.size()), &code);
  if (size <= 0) return {1, '?', 1};
  return {static_cast<size_t>(size), code, utf8proc_charwidth(code)};
}

bool Closes(const Glyph& character) {
  const utf8proc_category_t category = utf8proc_category(character.code);
  return category == UTF8PROC_CATEGORY_PE || category == UTF8PROC_CATEGORY_PF ||
         category == UTF8PROC_CATEGORY_PO;
}

bool Opens(const Glyph& character) {
  const utf8proc_category_t category = utf8proc_category(character.code);
  return category == UTF8PROC_CATEGORY_PS || category == UTF8PROC_CATEGORY_PI;
}

// The last place where a line may end before it gets longer than the word that
// begins at `from`: at a space, or beside a double-width character, but for
// punctuation, which stays with its word.
size_t EndOfWord(absl::string_view text, size_t from) {
  while (from < text.size() && text[from] != ' ') {
    const Glyph character = FirstGlyph(text.substr(from));
    from += character.bytes;
    if (from == text.size()) break;
    const Glyph next = FirstGlyph(text.substr(from));
    if ((character.columns == 2 || next.columns == 2) && !Opens(character) &&
        !Closes(next)) {
      break;
    }
  }
  return std::min(from, text.size());
}

}  // namespace

std::string ValueOf(const Environment& environment, const char* name) {
  const auto it = environment.find(name);
  return it == environment.end() ? "" : it->second;
}

Language CurrentLanguage() { return current_language; }

InLanguage::InLanguage(Language language) : before_(current_language) {
  current_language = language;
}

InLanguage::~InLanguage() { current_language = before_; }

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
  // Indexed by Paint.
  constexpr int kCodes[] = {0, 1, 2, 32, 33, 31, 35};
  return absl::StrCat("\x1b[", kCodes[static_cast<int>(paint)], "m", text,
                      "\x1b[0m");
}

std::string CutText(absl::string_view text, int columns, bool utf8) {
  if (TextColumns(text) <= columns) return std::string(text);
  const absl::string_view mark = utf8 ? "…" : "...";
  const int kept = columns - TextColumns(mark);
  size_t end = 0;
  for (int columns = 0; end < text.size();) {
    const Glyph next = FirstGlyph(text.substr(end));
    if ((columns += next.columns) > kept) break;
    end += next.bytes;
  }
  return absl::StrCat(text.substr(0, end), mark);
}

int TextColumns(absl::string_view text) {
  int columns = 0;
  while (!text.empty()) {
    const Glyph next = FirstGlyph(text);
    columns += next.columns;
    text.remove_prefix(next.bytes);
  }
  return columns;
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
    size_t end = EndOfWord(text, word);
    const absl::string_view first = text.substr(0, end);
    if (std::count(first.begin(), first.end(), '`') % 2 == 1) {
      // A single backquote begins no command.
      const size_t close = text.find('`', end);
      if (close != text.npos) end = EndOfWord(text, close);
    }
    const size_t comma = text.substr(0, word + columns).rfind(',');
    if (end > word + columns && comma != text.npos && comma > word &&
        text.substr(0, end).find('`') == text.npos) {
      end = comma + 1;
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

void Page::Optional(absl::string_view row, absl::string_view text) {
  if (!text.empty()) Whole("", Say(row, Safe(text)));
}

void Page::PrintNote(absl::string_view note) {
  Sentence(Say("report-note"), Paint::kNone, note);
}

void Page::Sentence(const std::string& word, Paint paint,
                    absl::string_view text) {
  std::vector<std::string> lines;
  // Further lines of the text stand further in: none looks like ours.
  for (const absl::string_view paragraph : absl::StrSplit(text, '\n')) {
    const std::string whole = absl::StrCat(
        lines.empty() ? absl::StrCat(word, Say("list-colon")) : "  ",
        Safe(paragraph));
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

Row TitleRow(absl::string_view titles) {
  Row row;
  for (const absl::string_view title : absl::StrSplit(titles, '|')) {
    row.push_back({std::string(title), Paint::kBold});
  }
  return row;
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
