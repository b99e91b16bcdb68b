// The forms that the answers of hccn_tool's queries share: lines of data, often
// below a heading or behind the device, and mostly a name and a value each.
//   optical info:
//   high power enable reg: enabled
//   [devid 0]link up count       : 2
// Text in, views into it out: runs nothing. What a name means is for the
// readers. Every function that returns a status gives InvalidArgument, quoting
// the text, for anything that has another form.
#ifndef DAEMON_HOST_HCCN_HCCN_OUTPUT_H_
#define DAEMON_HOST_HCCN_HCCN_OUTPUT_H_

#include <cstdint>
#include <string>
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

// The one data line; an error if there are none or several.
absl::StatusOr<absl::string_view> OnlyHccnDataLine(absl::string_view output);

// The data lines below the first one, which has to be `heading`. May be none.
absl::StatusOr<std::vector<absl::string_view>> HccnLinesBelow(
    absl::string_view heading, absl::string_view output);

// What follows "[devid N]" or, as the vendor's documentation spells it,
// "[device N]", in each data line. Another device's line is an error.
absl::StatusOr<std::vector<absl::string_view>> HccnLinesOfDevice(
    uint32_t device, absl::string_view output);

struct HccnNamedValue {
  absl::string_view name;   // Never empty.
  absl::string_view value;  // May be empty.
};

// Split at the first colon, blanks around both parts dropped. The vendor pads
// names to a column, and one of them leaves no room for a blank.
absl::StatusOr<HccnNamedValue> ParseHccnNamedValue(absl::string_view line);

// One pair a line, in the order of the text. Also an error if a name stands
// there twice.
absl::StatusOr<std::vector<HccnNamedValue>> ParseHccnNamedValues(
    absl::Span<const absl::string_view> lines);

// The values of lines that have exactly these names, in this order; of all data
// lines of `output`, or of these lines of it.
absl::StatusOr<std::vector<absl::string_view>> ParseHccnValuesOf(
    absl::Span<const absl::string_view> names, absl::string_view output);
absl::StatusOr<std::vector<absl::string_view>> ParseHccnValuesOf(
    absl::Span<const absl::string_view> names,
    absl::Span<const absl::string_view> lines, absl::string_view output);

// A number as printf writes it, no sign and no zeros in front, at most `max`.
absl::StatusOr<uint64_t> ParseHccnNumber(absl::string_view text, uint64_t max);

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

// The words between blanks.
std::vector<absl::string_view> HccnWords(absl::string_view line);

// A value that somebody else than the tool wrote, or whose meaning no public
// text tells: printable, cut after kMaxHccnTextBytes and then ended with "...".
inline constexpr size_t kMaxHccnTextBytes = 255;
std::string HccnText(absl::string_view value);

}  // namespace clusterd

#endif  // DAEMON_HOST_HCCN_HCCN_OUTPUT_H_
