// Text that may come from a hostile host, made fit for a terminal: no escape
// sequence, no text that runs backwards, no second line that looks like ours.
// Also the counting and wrapping of columns.
#ifndef CLIENT_PRINT_TERMINAL_TEXT_H_
#define CLIENT_PRINT_TERMINAL_TEXT_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace clusterd {

// `text` on one line: control characters (C0, DEL, C1), line separators,
// direction marks and other invisible characters become \n, \x1b or \u202e;
// bytes that are not UTF-8 become \xff. Without `utf8` the few signs that our
// own texts use get an ASCII form ("…" is "...") and all others \u escapes.
std::string SafeText(absl::string_view text, bool utf8);

// The same for JSON text: the characters that a terminal obeys become \u
// escapes. Such characters stand inside JSON strings only, so the document's
// meaning does not change.
std::string SafeJson(absl::string_view json);

// At most `columns` characters of a SafeText, the last ones "..." (or "…") if
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

#endif  // CLIENT_PRINT_TERMINAL_TEXT_H_
