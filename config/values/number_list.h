// Lists of numbers and ranges, as they stand between the brackets of a hostlist
// or an address pattern, and in lists of device ids:
//   1-3,7   01-12   0-30/2
#ifndef CONFIG_VALUES_NUMBER_LIST_H_
#define CONFIG_VALUES_NUMBER_LIST_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace clusterd {

struct NumberRange {
  uint64_t first = 0;
  uint64_t last = 0;  // Inclusive, at least `first`.
  uint64_t step = 1;  // Never 0.
  // Digits to pad to with zeros; 0: none, as written.
  int width = 0;

  // The number of numbers, at least 1. Cannot overflow.
  uint64_t size() const { return (last - first) / step + 1; }
};

// False unless `text` is only decimal digits, few enough for the type:
// absl::SimpleAtoi takes signs and blanks too.
template <typename Number>
bool ParseDigits(absl::string_view text, Number* number) {
  return absl::c_all_of(text, absl::ascii_isdigit) &&
         absl::SimpleAtoi(text, number);
}

// The ranges in the order written. Numbers have at most 18 digits. "01-12" is
// padded to two digits, "08-112" too. InvalidArgument, quoting the part that is
// wrong: not digits, a range that runs backwards, a step of 0, ends that are
// padded differently.
absl::StatusOr<std::vector<NumberRange>> ParseNumberList(
    absl::string_view text);

// `number` with at least `width` digits.
std::string PadNumber(uint64_t number, int width);

// Plain ids such as "0-3,8", ascending. InvalidArgument also if one is over
// `max` or stands twice.
absl::StatusOr<std::vector<uint32_t>> ParseIdList(absl::string_view text,
                                                  uint32_t max);

// "0-3,7", with a width "00-03,07". REQUIRES: ascending.
std::string FoldNumbers(absl::Span<const uint64_t> numbers, int width);

// The same of ids; "none" when empty. REQUIRES: ascending.
std::string FoldIds(absl::Span<const uint32_t> ids);

}  // namespace clusterd

#endif  // CONFIG_VALUES_NUMBER_LIST_H_
