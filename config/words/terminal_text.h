// Counting, padding, cutting and wrapping of columns. Takes a text of SafeText;
// page.h prints with it.
#ifndef CONFIG_WORDS_TERMINAL_TEXT_H_
#define CONFIG_WORDS_TERMINAL_TEXT_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace clusterd {

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

#endif  // CONFIG_WORDS_TERMINAL_TEXT_H_
