#include "config/values/port_set.h"

#include <algorithm>

#include "absl/algorithm/container.h"
#include "absl/base/macros.h"
#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "config/values/number_list.h"

namespace clusterd {
namespace {

bool ParsePort(absl::string_view text, uint32_t* port) {
  const bool leading_zero = text.size() > 1 && text[0] == '0';
  return !leading_zero && ParseDigits(text, port) && *port <= 65535;
}

}  // namespace

absl::StatusOr<PortSet> PortSet::Parse(absl::string_view text) {
  PortSet set;
  const absl::string_view stripped = absl::StripAsciiWhitespace(text);
  if (stripped.empty()) return set;
  for (absl::string_view part : absl::StrSplit(stripped, ',')) {
    const std::pair<absl::string_view, absl::string_view> ends =
        absl::StrSplit(part, absl::MaxSplits('-', 1));
    const bool is_range = part.find('-') != absl::string_view::npos;
    uint32_t first = 0;
    uint32_t last = 0;
    if (!ParsePort(ends.first, &first) ||
        (is_range && !ParsePort(ends.second, &last))) {
      return absl::InvalidArgumentError(
          absl::StrCat("port list: \"", part, "\" in \"", stripped,
                       "\", expected a port 0-65535 or a range like "
                       "60000-60015"));
    }
    if (!is_range) last = first;
    if (first > last) {
      return absl::InvalidArgumentError(
          absl::StrCat("port list: range \"", part,
                       "\" ends before it begins, "
                       "expected ",
                       last, "-", first));
    }
    set.Add(first, last);
  }
  return set;
}

void PortSet::Add(uint32_t first, uint32_t last) {
  ABSL_ASSERT(first <= last && last <= 65535);
  std::vector<Range> merged;
  for (const Range& range : ranges_) {
    // Adjacent ranges are merged too, as the kernel does.
    if (range.second + 1 < first || last + 1 < range.first) {
      merged.push_back(range);
      continue;
    }
    first = std::min(first, range.first);
    last = std::max(last, range.second);
  }
  merged.insert(
      std::upper_bound(merged.begin(), merged.end(), Range(first, last)),
      Range(first, last));
  ranges_ = std::move(merged);
}

void PortSet::Add(const PortSet& other) {
  for (const Range& range : other.ranges_) Add(range.first, range.second);
}

bool PortSet::Contains(uint32_t port) const {
  return absl::c_any_of(ranges_, [port](const Range& range) {
    return range.first <= port && port <= range.second;
  });
}

bool PortSet::Contains(const PortSet& other) const {
  return other.Minus(*this).empty();
}

PortSet PortSet::Minus(const PortSet& other) const {
  PortSet left;
  for (Range range : ranges_) {
    bool consumed = false;
    for (const Range& cut : other.ranges_) {
      if (cut.second < range.first || range.second < cut.first) continue;
      if (range.first < cut.first) left.Add(range.first, cut.first - 1);
      if (cut.second >= range.second) {
        consumed = true;
        break;
      }
      range.first = cut.second + 1;
    }
    if (!consumed) left.Add(range.first, range.second);
  }
  return left;
}

std::string PortSet::ToString() const {
  return absl::StrJoin(ranges_, ",", [](std::string* out, const Range& range) {
    absl::StrAppend(out, range.first);
    if (range.second != range.first) absl::StrAppend(out, "-", range.second);
  });
}

}  // namespace clusterd
