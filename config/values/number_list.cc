#include "config/values/number_list.h"

#include <algorithm>

#include "absl/status/status.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "config/values/status_macros.h"

namespace clusterd {
namespace {

constexpr size_t kMaxDigits = 18;

bool ParseNumber(absl::string_view digits, uint64_t* number) {
  return digits.size() <= kMaxDigits && ParseDigits(digits, number);
}

bool IsPadded(absl::string_view digits) {
  return digits.size() > 1 && digits[0] == '0';
}

template <typename... Parts>
absl::Status Wrong(absl::string_view text, const Parts&... parts) {
  return absl::InvalidArgumentError(absl::StrCat(
      "\"", absl::Utf8SafeCEscape(text.substr(0, 64)), "\" ", parts...));
}

absl::StatusOr<NumberRange> ParseRange(absl::string_view part) {
  constexpr absl::string_view kExpected =
      "is not a number or range, expected e.g. 7, 1-12 or 01-12";
  NumberRange range;
  const std::pair<absl::string_view, absl::string_view> stepped =
      absl::StrSplit(part, absl::MaxSplits('/', 1));
  const std::pair<absl::string_view, absl::string_view> ends =
      absl::StrSplit(stepped.first, absl::MaxSplits('-', 1));
  const bool is_range = absl::StrContains(stepped.first, '-');
  const absl::string_view last = is_range ? ends.second : ends.first;
  const bool is_stepped = absl::StrContains(part, '/');
  if (!ParseNumber(ends.first, &range.first) ||
      !ParseNumber(last, &range.last) ||
      (is_stepped &&
       (!is_range || !ParseNumber(stepped.second, &range.step)))) {
    return Wrong(part, kExpected);
  }
  if (range.step == 0) return Wrong(part, "has a step of 0, expected 1 up");
  if (range.first > range.last) {
    return Wrong(part, "runs backwards, expected ", last, "-", ends.first);
  }
  if (IsPadded(ends.first) || IsPadded(last)) {
    // "08-112" grows out of its padding; "8-012" and "008-12" contradict
    // themselves.
    const bool grows = IsPadded(ends.first) && !IsPadded(last) &&
                       last.size() > ends.first.size();
    if (ends.first.size() != last.size() && !grows) {
      return Wrong(part, "pads its ends differently");
    }
    range.width = static_cast<int>(ends.first.size());
  }
  return range;
}

}  // namespace

absl::StatusOr<std::vector<NumberRange>> ParseNumberList(
    absl::string_view text) {
  std::vector<NumberRange> ranges;
  for (absl::string_view part : absl::StrSplit(text, ',')) {
    ASSIGN_OR_RETURN(const NumberRange range, ParseRange(part));
    ranges.push_back(range);
  }
  return ranges;
}

std::string PadNumber(uint64_t number, int width) {
  return absl::StrFormat("%0*d", width, number);
}

absl::StatusOr<std::vector<uint32_t>> ParseIdList(absl::string_view text,
                                                  uint32_t max) {
  ASSIGN_OR_RETURN(const std::vector<NumberRange> ranges,
                   ParseNumberList(text));
  std::vector<uint32_t> ids;
  for (const NumberRange& range : ranges) {
    if (range.last > max) {
      return Wrong(absl::StrCat(range.last), "is too large, expected 0-", max);
    }
    // A range that repeats ids cannot grow the list without bound: `max` of
    // them is all there is.
    if (ids.size() + range.size() > uint64_t{max} + 1) {
      return Wrong(text, "has an id twice");
    }
    for (uint64_t id = range.first; id <= range.last; id += range.step) {
      ids.push_back(static_cast<uint32_t>(id));
    }
  }
  std::sort(ids.begin(), ids.end());
  const auto twice = std::adjacent_find(ids.begin(), ids.end());
  if (twice != ids.end()) return Wrong(text, "has id ", *twice, " twice");
  return ids;
}

std::string FoldIds(absl::Span<const uint32_t> ids) {
  if (ids.empty()) return "none";
  std::string text;
  for (size_t first = 0; first < ids.size();) {
    size_t last = first;
    while (last + 1 < ids.size() && ids[last + 1] == ids[last] + 1) ++last;
    absl::StrAppend(&text, text.empty() ? "" : ",", ids[first]);
    if (last > first) absl::StrAppend(&text, "-", ids[last]);
    first = last + 1;
  }
  return text;
}

}  // namespace clusterd
