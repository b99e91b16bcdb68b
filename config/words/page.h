// The layout that all printers share: titles, texts wrapped to the window with
// their further lines below the first, and tables of aligned columns. "Safe"
// below means a text of SafeText.
#ifndef CONFIG_WORDS_PAGE_H_
#define CONFIG_WORDS_PAGE_H_

#include <ostream>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "config/words/terminal.h"

namespace clusterd {

struct Cell {
  std::string text;  // Safe.
  Paint paint = Paint::kNone;
};

// The last cell of a row makes no column wider.
using Row = std::vector<Cell>;

struct TableLayout {
  int indent = 0;
  // What becomes of a last cell that does not fit.
  enum class Last { kStays, kIsCut, kIsWrapped } last = Last::kStays;
  int unknown_width = 0;  // Of a window, for kIsCut; 0: not cut then.
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
  // Every line of `text` made safe by itself.
  std::string SafeLines(absl::string_view text) const;

  // An empty line, and the title, which is made safe, in bold.
  void Title(absl::string_view title);

  // `text` behind `head`, which has that colour; its further lines below it.
  // Both are safe; only `text` may have line ends.
  void Wrapped(absl::string_view head, absl::string_view text,
               Paint paint = Paint::kNone);
  // The same, but lines are as long as they are: commands to be copied.
  void Whole(absl::string_view head, absl::string_view text);

  // "note: ..." for each. Makes them safe.
  template <typename Notes>
  void PrintNotes(const Notes& notes) {
    for (const std::string& note : notes) Sentence("note", Paint::kNone, note);
  }

  // "FAIL: 1 failed of 25 rules", the word in bold and that colour, wrapped to
  // the window. Makes `text` safe.
  void Sentence(const std::string& word, Paint paint, absl::string_view text);

  // Columns as wide as their widest cell, two spaces between them.
  void PrintTable(const std::vector<Row>& rows, const TableLayout& layout);
  // One row of a table whose columns are that wide.
  void PrintRow(const Row& row, const std::vector<int>& columns,
                const TableLayout& layout);

 private:
  // What is left of the window, at least 20; 0: its width is not known.
  int ColumnsAfter(int used) const;
  void Lines(absl::string_view head, absl::string_view text, Paint paint,
             int columns);

  const Style& style_;
  std::ostream& out_;
};

// Of all cells but the last of each row.
std::vector<int> ColumnWidths(const std::vector<Row>& rows);

}  // namespace clusterd

#endif  // CONFIG_WORDS_PAGE_H_
