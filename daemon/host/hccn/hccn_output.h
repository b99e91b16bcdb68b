// What the answers of all of hccn_tool's queries share: lines of data, and
// words of a list. Text in, views into it out: runs nothing.
#ifndef DAEMON_HOST_HCCN_HCCN_OUTPUT_H_
#define DAEMON_HOST_HCCN_HCCN_OUTPUT_H_

#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace clusterd {

// InvalidArgument: unexpected "<text>", expected <expected>.
absl::Status UnexpectedHccnText(absl::string_view text,
                                absl::string_view expected);

// The lines that carry data, without blanks at their end. Left out: empty
// lines; "[WARNING] …", which the tool prints first when /var/log/hccn_tool is
// not a directory; and "Cmd executed successfully!".
std::vector<absl::string_view> HccnDataLines(absl::string_view output);

// What `text` stands for, by a table of all that it may be; else
// UnexpectedHccnText with `expected`.
template <typename Value>
absl::StatusOr<Value> ParseHccnWord(
    absl::string_view text,
    absl::Span<const std::pair<absl::string_view, Value>> words,
    absl::string_view expected) {
  for (const auto& [word, value] : words) {
    if (text == word) return value;
  }
  return UnexpectedHccnText(text, expected);
}

}  // namespace clusterd

#endif  // DAEMON_HOST_HCCN_HCCN_OUTPUT_H_
