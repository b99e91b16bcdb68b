#include "config/values/hostlist.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/container/btree_set.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "config/values/number_list.h"
#include "config/values/status_macros.h"
#include "config/values/value_error.h"

namespace clusterd {
namespace {

constexpr size_t kMaxHostNameBytes = 253;

// The items between commas that stand outside of brackets.
std::vector<absl::string_view> SplitItems(absl::string_view text) {
  std::vector<absl::string_view> items;
  size_t start = 0;
  bool inside = false;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '[') inside = true;
    if (text[i] == ']') inside = false;
    if (text[i] != ',' || inside) continue;
    items.push_back(text.substr(start, i - start));
    start = i + 1;
  }
  items.push_back(text.substr(start));
  return items;
}

absl::Status TooMany(absl::string_view item, size_t max_names) {
  return WrongValue("value-hosts-too-many", item, max_names);
}

std::vector<std::string> WithNumbers(const std::vector<std::string>& names,
                                     const std::vector<NumberRange>& ranges) {
  std::vector<std::string> longer;
  for (const std::string& name : names) {
    for (const NumberRange& range : ranges) {
      for (uint64_t n = range.first; n <= range.last; n += range.step) {
        longer.push_back(absl::StrCat(name, PadNumber(n, range.width)));
      }
    }
  }
  return longer;
}

// Every combination, the last bracket counting fastest; at most `names_left`.
absl::StatusOr<std::vector<std::string>> ExpandItem(absl::string_view item,
                                                    size_t names_left,
                                                    size_t max_names) {
  if (names_left == 0) return TooMany(item, max_names);
  std::vector<std::string> names = {""};
  absl::string_view rest = item;
  while (!rest.empty()) {
    const size_t open = std::min(rest.find_first_of("[]"), rest.size());
    // Before it is copied for every name.
    if (names[0].size() + open > kMaxHostNameBytes) {
      return WrongValue("value-host-too-long", item);
    }
    const absl::string_view text = rest.substr(0, open);
    for (std::string& name : names) absl::StrAppend(&name, text);
    rest.remove_prefix(open);
    if (rest.empty()) break;
    if (rest[0] == ']') {
      return WrongValue("value-hosts-close", item);
    }
    const size_t close = rest.find(']');
    if (close == absl::string_view::npos) {
      return WrongValue("value-hosts-open", item);
    }
    const auto ranges = ParseNumberList(rest.substr(1, close - 1));
    RETURN_IF_ERROR(InFront("hostlist", ranges.status()));
    uint64_t numbers = 0;
    for (const NumberRange& range : *ranges) {
      numbers += range.size();
      if (numbers > names_left / names.size()) return TooMany(item, max_names);
    }
    names = WithNumbers(names, *ranges);
    rest.remove_prefix(close + 1);
  }
  return names;
}

// Longer runs of digits are serial numbers, not counters: they stay text.
constexpr size_t kMaxDigits = 18;

// The combinations of one set of numbers per axis.
using Numbers = absl::btree_set<uint64_t>;
using Box = std::vector<Numbers>;

// A name with '\0' where a counter stood, and the digits of its counters:
// "rack1n07" is "rack\0n\0" and 1, 07.
using Counters = std::vector<absl::string_view>;
std::pair<std::string, Counters> SplitCounters(absl::string_view host) {
  std::pair<std::string, Counters> name;
  for (size_t i = 0; i < host.size();) {
    size_t end = i;
    while (end < host.size() && absl::ascii_isdigit(host[end])) ++end;
    if (end == i || end - i > kMaxDigits) {
      end = std::max(end, i + 1);
      absl::StrAppend(&name.first, host.substr(i, end - i));
    } else {
      name.second.push_back(host.substr(i, end - i));
      name.first.push_back('\0');
    }
    i = end;
  }
  return name;
}

// Joins boxes that differ in `axis` only.
std::vector<Box> JoinAxis(std::vector<Box> boxes, size_t axis) {
  absl::flat_hash_map<Box, Numbers> joined;
  for (Box& box : boxes) {
    const Numbers along = std::exchange(box[axis], {});
    joined[box].insert(along.begin(), along.end());
  }
  boxes.clear();
  for (auto& [rest, along] : joined) {
    boxes.push_back(rest);
    boxes.back()[axis] = std::move(along);
  }
  return boxes;
}

std::string Spell(absl::string_view text, const Box& box,
                  const std::vector<int>& widths) {
  const std::vector<absl::string_view> pieces = absl::StrSplit(text, '\0');
  std::string spelt(pieces[0]);
  for (size_t axis = 0; axis < box.size(); ++axis) {
    const std::string list =
        FoldNumbers(std::vector<uint64_t>(box[axis].begin(), box[axis].end()),
                    widths[axis]);
    const bool single = box[axis].size() == 1;
    absl::StrAppend(&spelt, single ? "" : "[", list, single ? "" : "]",
                    pieces[axis + 1]);
  }
  return spelt;
}

// Folds all names with the same text.
void FoldFamily(absl::string_view text, const std::vector<Counters>& family,
                std::vector<std::string>* items) {
  // The padded numbers, by axis and length: "10" belongs to "08" and "09".
  std::set<std::pair<size_t, size_t>> padded;
  for (const Counters& counters : family) {
    for (size_t axis = 0; axis < counters.size(); ++axis) {
      const absl::string_view digits = counters[axis];
      if (digits.size() > 1 && digits[0] == '0') {
        padded.emplace(axis, digits.size());
      }
    }
  }
  std::map<std::vector<int>, std::vector<Box>> by_widths;
  for (const Counters& counters : family) {
    Box box;
    std::vector<int> widths;
    for (size_t axis = 0; axis < counters.size(); ++axis) {
      const size_t length = counters[axis].size();
      uint64_t number = 0;
      // At most kMaxDigits digits: cannot fail.
      ParseDigits(counters[axis], &number);
      box.push_back({number});
      const bool is_padded = padded.count({axis, length}) > 0;
      widths.push_back(is_padded ? static_cast<int>(length) : 0);
    }
    by_widths[widths].push_back(std::move(box));
  }
  for (auto& [widths, boxes] : by_widths) {
    for (size_t axis = widths.size(); axis-- > 0;) {
      boxes = JoinAxis(std::move(boxes), axis);
    }
    for (const Box& box : std::set<Box>(boxes.begin(), boxes.end())) {
      items->push_back(Spell(text, box, widths));
    }
  }
}

}  // namespace

bool IsHostName(absl::string_view name) {
  // Without a regular expression: every hook checks all names of its job.
  return !name.empty() && name.size() <= kMaxHostNameBytes &&
         absl::ascii_isalnum(name.front()) &&
         absl::ascii_isalnum(name.back()) &&
         absl::c_all_of(name,
                        [](char c) {
                          return absl::ascii_isalnum(c) || c == '.' ||
                                 c == '_' || c == '-';
                        }) &&
         !absl::StrContains(name, "..");
}

absl::StatusOr<std::vector<std::string>> ExpandHostlist(absl::string_view text,
                                                        size_t max_names) {
  std::vector<std::string> names;
  absl::flat_hash_set<std::string> seen;
  size_t names_left = max_names;
  for (absl::string_view item : SplitItems(text)) {
    if (item.empty()) {
      return WrongValue("value-hosts-empty", text);
    }
    ASSIGN_OR_RETURN(std::vector<std::string> of_item,
                     ExpandItem(item, names_left, max_names));
    names_left -= of_item.size();
    for (std::string& name : of_item) {
      if (!IsHostName(name)) {
        return WrongValue("value-host-name", name);
      }
      if (seen.insert(name).second) names.push_back(std::move(name));
    }
  }
  return names;
}

std::string FoldHostlist(const std::vector<std::string>& hosts) {
  std::map<std::string, std::vector<Counters>> families;
  std::set<std::string> others;
  for (const std::string& host : hosts) {
    if (IsHostName(host)) {
      auto [text, counters] = SplitCounters(host);
      families[text].push_back(std::move(counters));
    } else {
      others.insert(host);
    }
  }
  std::vector<std::string> items;
  for (const auto& [text, family] : families) FoldFamily(text, family, &items);
  items.insert(items.end(), others.begin(), others.end());
  return absl::StrJoin(items, ",");
}

}  // namespace clusterd
