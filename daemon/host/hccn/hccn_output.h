// What the answers of all of hccn_tool's queries share: lines of data, and the
// numbers and words in them. Text in, views into it out: runs nothing. Every
// function that returns a status gives InvalidArgument, quoting the text, for
// anything that has another form.
#ifndef DAEMON_HOST_HCCN_HCCN_OUTPUT_H_
#define DAEMON_HOST_HCCN_HCCN_OUTPUT_H_

#include <cstdint>
#include <limits>
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

// A number as printf writes it, no sign and no zeros in front, at most `max`.
absl::StatusOr<uint64_t> ParseHccnNumber(
    absl::string_view text,
    uint64_t max = std::numeric_limits<uint64_t>::max());

// What `text` stands for, by a table of all that it may be; else an error with
// `expected`.
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
