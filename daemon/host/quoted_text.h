// Outside text as it may stand in a message or a fact: printable, bounded, and
// nothing in it can move a terminal's cursor or break UTF-8.
#ifndef DAEMON_HOST_QUOTED_TEXT_H_
#define DAEMON_HOST_QUOTED_TEXT_H_

#include <cstddef>
#include <string>

#include "absl/strings/string_view.h"

namespace clusterd {

inline constexpr size_t kMaxQuotedBytes = 96;

// `text` with every byte outside printable ASCII as \n, \r, \t or \xNN; cut
// after `max_bytes` of input, then ended with "...".
std::string PrintableText(absl::string_view text, size_t max_bytes);

// PrintableText of at most kMaxQuotedBytes, in double quotes.
std::string QuotedText(absl::string_view text);

}  // namespace clusterd

#endif  // DAEMON_HOST_QUOTED_TEXT_H_
