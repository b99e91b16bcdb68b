// The abilities of a terminal and the resulting output: colour only on a
// terminal, ASCII if the locale is not UTF-8, lines no wider than the window.
// Pure: main.cc asks the system once and passes the answers in.
//
// And the layout that all printers share: columns counted, padded, cut and
// wrapped, titles, tables of aligned columns. "Safe" means a text of SafeText;
// all laid out text must be one.
#ifndef CONFIG_WORDS_TERMINAL_H_
#define CONFIG_WORDS_TERMINAL_H_

#include <map>
#include <ostream>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace clusterd {

// The system's answers about our streams.
struct Terminal {
  bool out_is_terminal = false;
  bool err_is_terminal = false;
  int width = 0;  // Columns of the window; 0: not known.
  bool in_is_terminal = false;
  int height = 0;  // Lines of the window; 0: not known.
};

enum class ColorMode { kAuto, kAlways, kNever };

// The language of texts for people. Commands, options, names, JSON, exit
// statuses, vendor output, logs and audit entries are English in both.
enum class Language { kEnglish, kChinese };

// The language of this thread's words; English unless an InLanguage exists.
// Texts that are kept or sent, or that programs read, are English.
Language CurrentLanguage();

class InLanguage {
 public:
  explicit InLanguage(Language language);
  ~InLanguage();
  InLanguage(const InLanguage&) = delete;
  InLanguage& operator=(const InLanguage&) = delete;

 private:
  const Language before_;
};

// The style of one stream.
struct Style {
  bool color = false;
  bool utf8 = false;
  int width = 0;          // 0: lines are not wrapped.
  bool rewrites = false;  // A line may be overwritten: progress is shown.
};

using Environment = std::map<std::string, std::string>;

// The value of a variable; empty if it is not set.
std::string ValueOf(const Environment& environment, const char* name);

// By the first set variable of CLUSTERD_LANG ("zh", "en"), LC_ALL, LC_MESSAGES
// and LANG ("zh_CN.UTF-8"). English if that names no known language, or the
// locale is not UTF-8.
Language LanguageOf(const Environment& environment);

// The style of a stream, stdout or stderr, depending on whether it is a
// terminal.
//   mode    | result
//   always  | colour
//   never   | none
//   auto    | colour on a terminal unless NO_COLOR is set or TERM is "dumb"
// UTF-8 if the first set one of LC_ALL, LC_CTYPE, LANG names it. Lines are
// wrapped on a terminal only. Progress needs a terminal that is not "dumb".
Style StyleOf(bool Terminal::*is_terminal, const Terminal& terminal,
              const Environment& environment, ColorMode mode);

enum class Paint { kNone, kBold, kDim, kGreen, kYellow, kRed, kMagenta };

// `text` in that colour, or as it is when the style has no colour.
std::string Painted(const Style& style, Paint paint, absl::string_view text);

// At most `columns` columns of `text`, ended by "..." (or "…") if cut.
// REQUIRES: columns >= 4.
std::string CutText(absl::string_view text, int columns, bool utf8);

// Columns that `text` takes on a terminal: two for a Chinese character. Text
// has no colour codes.
int TextColumns(absl::string_view text);

// `text` with spaces after it up to `columns`.
std::string Padded(absl::string_view text, int columns);

// Lines of at most `columns` columns, broken at spaces and between Chinese
// characters, never before punctuation; a long list of hosts breaks behind a
// comma. Another longer word, or a command in backquotes, which is never
// broken, has its own line. One line if `columns` is 0 or less; never empty.
std::vector<std::string> WrapText(absl::string_view text, int columns);

struct Cell {
  std::string text;  // Safe.
  Paint paint = Paint::kNone;
};

// The last cell of a row makes no column wider.
using Row = std::vector<Cell>;

struct TableLayout {
  int indent = 0;
  // The treatment of a last cell that does not fit.
  enum class Last { kStays, kIsCut, kIsWrapped } last = Last::kStays;
  int unknown_width = 0;  // For kIsCut; 0: not cut then.
};

// Prints to one stream. Lives for one print; not thread-safe.
class Page {
 public:
  // Both must outlive it.
  Page(const Style& style, std::ostream& out) : style_(style), out_(out) {}

  const Style& style() const { return style_; }
  std::ostream& out() { return out_; }

  // SafeText in this page's style; Strong is bold, too.
  std::string Safe(absl::string_view text) const;
  std::string Strong(absl::string_view text) const;
  // Makes each line of `text` safe.
  std::string SafeLines(absl::string_view text) const;

  // An empty line, and the title, which is made safe, in bold.
  void Title(absl::string_view title);

  // `text` behind `head`, which has that colour; its further lines below it.
  // Both are safe; only `text` may have line ends.
  void Wrapped(absl::string_view head, absl::string_view text,
               Paint paint = Paint::kNone);
  // The same without wrapping: commands to be copied.
  void Whole(absl::string_view head, absl::string_view text);

  // The words of that row with the text, which is made safe; not for an empty
  // one.
  void Optional(absl::string_view row, absl::string_view text);

  // "note: ..." for each. Makes them safe.
  template <typename Notes>
  void PrintNotes(const Notes& notes) {
    for (const std::string& note : notes) PrintNote(note);
  }

  void PrintNote(absl::string_view note);

  // "FAIL: 1 failed of 25 rules", the word in bold and that colour, wrapped to
  // the window. Makes every line of `text` safe; further ones are indented.
  void Sentence(const std::string& word, Paint paint, absl::string_view text);

  // Columns as wide as their widest cell, two spaces between them.
  void PrintTable(const std::vector<Row>& rows, const TableLayout& layout);
  // One row of a table whose columns are that wide.
  void PrintRow(const Row& row, const std::vector<int>& columns,
                const TableLayout& layout);

 private:
  // The rest of the window, at least 20; 0: its width is not known.
  int ColumnsAfter(int used) const;
  void Lines(absl::string_view head, absl::string_view text, Paint paint,
             int columns);

  const Style& style_;
  std::ostream& out_;
};

// A bold row of titles, which stand with | between them.
Row TitleRow(absl::string_view titles);

// The widths of all cells but the last of each row.
std::vector<int> ColumnWidths(const std::vector<Row>& rows);

}  // namespace clusterd

#endif  // CONFIG_WORDS_TERMINAL_H_
