#include "config/values/port_set.h"

#include <algorithm>
#include <optional>

#include "absl/algorithm/container.h"
#include "absl/base/macros.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "config/values/text_form.h"
#include "config/values/value_error.h"

namespace clusterd {
absl::StatusOr<PortSet> PortSet::Parse(absl::string_view text) {
  static const LazyRE2 kForm = {"(0|[1-9]\\d*)(?:-(0|[1-9]\\d*))?"};
  PortSet set;
  const absl::string_view stripped = absl::StripAsciiWhitespace(text);
  if (stripped.empty()) return set;
  for (absl::string_view part : absl::StrSplit(stripped, ',')) {
    uint32_t first = 0;
    std::optional<uint32_t> second;
    const bool has_form = HasForm(part, *kForm, &first, &second);
    const uint32_t last = second.value_or(first);
    if (!has_form || first > 65535 || last > 65535) {
      return WrongValue("value-port", part, stripped);
    }
    if (first > last) {
      return WrongValue("value-port-backwards", part, last, first);
    }
    set.Add(first, last);
  }
  return set;
}

void PortSet::Add(uint32_t first, uint32_t last) {
  ABSL_ASSERT(first <= last && last <= 65535);
  // Adjacent ranges are merged too, as the kernel does.
  const auto from = std::lower_bound(ranges_.begin(), ranges_.end(), first,
                                     [](const Range& range, uint32_t port) {
                                       return range.second + 1 < port;
                                     });
  auto to = from;
  for (; to != ranges_.end() && to->first <= last + 1; ++to) {
    first = std::min(first, to->first);
    last = std::max(last, to->second);
  }
  ranges_.insert(ranges_.erase(from, to), Range(first, last));
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
  for (const Range& range : ranges_) {
    uint32_t next = range.first;
    for (const Range& cut : other.ranges_) {
      if (cut.second < next || range.second < cut.first) continue;
      if (next < cut.first) left.Add(next, cut.first - 1);
      next = cut.second + 1;
    }
    if (next <= range.second) left.Add(next, range.second);
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
