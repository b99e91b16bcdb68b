// Makes text from outside safe: the one sanitiser. Everything from a host, a
// tool or a person is untrusted: it may hold escape sequences, text that runs
// backwards, or a second line that looks like ours. It is shown escaped,
// bounded if it could be long, and enters no command unquoted.
#ifndef CONFIG_WORDS_QUOTED_TEXT_H_
#define CONFIG_WORDS_QUOTED_TEXT_H_

#include <cstddef>
#include <string>

#include "absl/strings/string_view.h"

namespace clusterd {

inline constexpr size_t kMaxQuotedBytes = 96;
inline constexpr size_t kMaxPrintableBytes = 160;

// For a fact, a message or a log: `text` with every byte outside printable
// ASCII as \n, \r, \t or \xNN; cut to `max_bytes` of input and "...".
std::string PrintableText(absl::string_view text,
                          size_t max_bytes = kMaxPrintableBytes);

// The text in double quotes, cut after kMaxQuotedBytes: SafeText of valid
// UTF-8, and PrintableText of other bytes.
std::string QuotedText(absl::string_view text);

// For a terminal: `text` on one line. Control characters (C0, DEL, C1), line
// separators, direction marks and other invisible characters become \n, \x1b or
// \u202e; bytes that are not UTF-8 become \xff. Without `utf8` the few signs
// that our own texts use get an ASCII form ("…" is "...") and all others \u
// escapes. Idempotent.
std::string SafeText(absl::string_view text, bool utf8);

// The same for each of its lines.
std::string SafeLines(absl::string_view text, bool utf8);

// For JSON that holds such texts: characters that a terminal obeys become \u
// escapes, inside JSON strings only, so the document means the same.
std::string SafeJson(absl::string_view json);

// For a field of a message: every byte that is not part of valid UTF-8 becomes
// U+FFFD. Surrogates, overlong forms and values above U+10FFFF are not valid.
std::string ValidUtf8(absl::string_view bytes);

// For a command to copy: one word for a POSIX shell, without the characters
// that SafeText would escape.
std::string ShellQuoted(absl::string_view text);

}  // namespace clusterd

#endif  // CONFIG_WORDS_QUOTED_TEXT_H_
