// What a person's terminal can show, and what we therefore print: colour only
// on a terminal, ASCII where the locale is not UTF-8, lines no wider than the
// window. Pure: main.cc asks the system once and passes the answers in. The
// columns of a text are counted, padded, cut and wrapped here; it is one of
// SafeText, and page.h prints with it.
#ifndef CONFIG_WORDS_TERMINAL_H_
#define CONFIG_WORDS_TERMINAL_H_

#include <map>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace clusterd {

// What the system says about our streams.
struct Terminal {
  bool out_is_terminal = false;
  bool err_is_terminal = false;
  int width = 0;  // Columns of the window; 0: not known.
  bool in_is_terminal = false;
};

enum class ColorMode { kAuto, kAlways, kNever };

// How one stream is written.
struct Style {
  bool color = false;
  bool utf8 = false;
  int width = 0;          // 0: lines are not wrapped.
  bool rewrites = false;  // A line may be overwritten: progress is shown.
};

using Environment = std::map<std::string, std::string>;

// The style of stdout.
//   mode    | result
//   always  | colour
//   never   | none
//   auto    | colour on a terminal unless NO_COLOR is set or TERM is "dumb"
// UTF-8 if the first set one of LC_ALL, LC_CTYPE, LANG names it. Lines are
// wrapped on a terminal only.
Style StyleOfOut(const Terminal& terminal, const Environment& environment,
                 ColorMode mode);

// The same for stderr. Progress is for a terminal that is not "dumb".
Style StyleOfErr(const Terminal& terminal, const Environment& environment,
                 ColorMode mode);

enum class Paint { kNone, kBold, kDim, kGreen, kYellow, kRed, kMagenta };

// `text` in that colour, or as it is when the style has no colour.
std::string Painted(const Style& style, Paint paint, absl::string_view text);

// At most `columns` characters of `text`, the last ones "..." (or "…") if
// something was cut. REQUIRES: columns >= 4.
std::string CutText(absl::string_view text, int columns, bool utf8);

// Columns that `text` takes: one per character. Text has no colour codes.
int TextColumns(absl::string_view text);

// `text` with spaces behind it up to `columns`.
std::string Padded(absl::string_view text, int columns);

// Lines of at most `columns` characters, broken at spaces; a longer word has a
// line of its own. One line if `columns` is 0 or less; never an empty vector.
std::vector<std::string> WrapText(absl::string_view text, int columns);

}  // namespace clusterd

#endif  // CONFIG_WORDS_TERMINAL_H_
