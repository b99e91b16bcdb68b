#include "config/values/number_list.h"

#include <algorithm>
#include <optional>

#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "config/values/status_macros.h"
#include "config/values/text_form.h"
#include "config/values/value_error.h"

namespace clusterd {
namespace {

bool IsPadded(absl::string_view digits) {
  return digits.size() > 1 && digits[0] == '0';
}

absl::StatusOr<NumberRange> ParseRange(absl::string_view part) {
  static const LazyRE2 kForm = {
      R"((\d{1,18})(?:-(\d{1,18})(?:/(\d{1,18}))?)?)"};
  absl::string_view first, last;
  std::optional<uint64_t> step;
  const bool has_form = HasForm(part, *kForm, &first, &last, &step);
  if (last.empty()) last = first;
  NumberRange range;
  if (!has_form || !ParseDigits(first, &range.first) ||
      !ParseDigits(last, &range.last)) {
    return WrongValue("value-number", part);
  }
  range.step = step.value_or(1);
  if (range.step == 0) {
    return WrongValue("value-number-step", part);
  }
  if (range.first > range.last) {
    return WrongValue("value-number-backwards", part, last, first);
  }
  if (IsPadded(first) || IsPadded(last)) {
    // "08-112" grows out of its padding; "8-012" and "008-12" contradict it.
    const bool grows =
        IsPadded(first) && !IsPadded(last) && last.size() > first.size();
    if (first.size() != last.size() && !grows) {
      return WrongValue("value-number-padding", part);
    }
    range.width = static_cast<int>(first.size());
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
      return WrongValue("value-id-too-large", absl::StrCat(range.last), max);
    }
    // A range that repeats ids cannot grow the list without bound: `max` of
    // them is all there is.
    if (ids.size() + range.size() > uint64_t{max} + 1) {
      return WrongValue("value-an-id-twice", text);
    }
    for (uint64_t id = range.first; id <= range.last; id += range.step) {
      ids.push_back(static_cast<uint32_t>(id));
    }
  }
  std::sort(ids.begin(), ids.end());
  const auto twice = std::adjacent_find(ids.begin(), ids.end());
  if (twice != ids.end()) {
    return WrongValue("value-id-twice", text, *twice);
  }
  return ids;
}

std::string FoldNumbers(absl::Span<const uint64_t> numbers, int width) {
  std::string text;
  for (size_t first = 0; first < numbers.size();) {
    size_t last = first;
    while (last + 1 < numbers.size() &&
           numbers[last + 1] == numbers[last] + 1) {
      ++last;
    }
    absl::StrAppend(&text, text.empty() ? "" : ",",
                    PadNumber(numbers[first], width));
    if (last > first) {
      absl::StrAppend(&text, "-", PadNumber(numbers[last], width));
    }
    first = last + 1;
  }
  return text;
}

std::string FoldIds(absl::Span<const uint32_t> ids) {
  if (ids.empty()) return "none";
  return FoldNumbers(std::vector<uint64_t>(ids.begin(), ids.end()), 0);
}

}  // namespace clusterd
