// The form that most answers of hccn_tool's queries share, a name and a value
// a line, often below a heading and sometimes behind the device:
//   optical info:
//   high power enable reg: enabled
//   [devid 0]link up count       : 2
// Text in, views into it out: runs nothing. What a name means is for the
// readers beside this file. Every function returns InvalidArgument, quoting the
// text, for anything that has another form.
#ifndef DAEMON_HOST_HCCN_QUERY_HCCN_NAMED_VALUES_H_
#define DAEMON_HOST_HCCN_QUERY_HCCN_NAMED_VALUES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace clusterd {

struct HccnNamedValue {
  absl::string_view name;   // Never empty.
  absl::string_view value;  // May be empty.
};

// InvalidArgument: unexpected "<text>", expected <expected>.
absl::Status UnexpectedHccnText(absl::string_view text,
                                absl::string_view expected);

// Split at the first colon, blanks around both parts dropped. The vendor pads
// names to a column, and one of them leaves no room for a blank.
absl::StatusOr<HccnNamedValue> ParseHccnNamedValue(absl::string_view line);

// One pair a line, in the order of the text. Also InvalidArgument if a name
// stands there twice.
absl::StatusOr<std::vector<HccnNamedValue>> ParseHccnNamedValues(
    absl::Span<const absl::string_view> lines);

// The values of an answer that has exactly these names, in this order, one a
// data line (hccn_output.h).
absl::StatusOr<std::vector<absl::string_view>> ParseHccnValuesOf(
    absl::Span<const absl::string_view> names, absl::string_view output);

// The data lines below the first one, which has to be `heading`. May be none.
absl::StatusOr<std::vector<absl::string_view>> HccnLinesBelow(
    absl::string_view heading, absl::string_view output);

// What follows "[devid N]" or, as the vendor's documentation spells it,
// "[device N]". Another device's line is InvalidArgument.
absl::StatusOr<absl::string_view> WithoutHccnDevice(absl::string_view line,
                                                    uint32_t device);

// A number as printf writes it, no sign and no zeros in front, at most `max`.
absl::StatusOr<uint64_t> ParseHccnNumber(absl::string_view text, uint64_t max);

// A value that somebody else than the tool wrote, or whose meaning no public
// text tells: printable, cut after kMaxHccnTextBytes and then ended with "...".
inline constexpr size_t kMaxHccnTextBytes = 255;
std::string HccnText(absl::string_view value);

}  // namespace clusterd

#endif  // DAEMON_HOST_HCCN_QUERY_HCCN_NAMED_VALUES_H_
