#include "config/values/hostlist.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "config/values/number_list.h"
#include "config/values/status_macros.h"

namespace clusterd {
namespace {

constexpr size_t kMaxNameBytes = 253;

template <typename... Parts>
absl::Status Wrong(absl::string_view text, const Parts&... parts) {
  return absl::InvalidArgumentError(
      absl::StrCat("hostlist: \"", absl::Utf8SafeCEscape(text.substr(0, 80)),
                   "\" ", parts...));
}

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

// One part of an item: fixed text, then optionally a bracket.
struct Part {
  absl::string_view text;
  std::vector<NumberRange> ranges;  // Empty: no bracket.
};

absl::StatusOr<std::vector<Part>> ParseItem(absl::string_view item) {
  std::vector<Part> parts;
  absl::string_view rest = item;
  while (!rest.empty()) {
    const size_t open = rest.find_first_of("[]");
    Part part;
    part.text = rest.substr(0, open);
    if (open != absl::string_view::npos) {
      const size_t close = rest.find(']', open);
      if (rest[open] == ']') return Wrong(item, "closes no bracket");
      if (close == absl::string_view::npos) {
        return Wrong(item, "has an open bracket, expected \"]\"");
      }
      absl::StatusOr<std::vector<NumberRange>> ranges =
          ParseNumberList(rest.substr(open + 1, close - open - 1));
      if (!ranges.ok()) {
        return absl::InvalidArgumentError(
            absl::StrCat("hostlist: ", ranges.status().message()));
      }
      part.ranges = *std::move(ranges);
      rest.remove_prefix(close + 1);
    } else {
      rest = "";
    }
    parts.push_back(std::move(part));
  }
  return parts;
}

// Fixed text that no host name has room for: would be copied for every name.
bool IsTooLong(const std::vector<Part>& parts) {
  size_t bytes = 0;
  for (const Part& part : parts) bytes += part.text.size();
  return bytes > kMaxNameBytes;
}

// How many names `parts` stand for; over `limit` if that many or more.
uint64_t CountNames(const std::vector<Part>& parts, uint64_t limit) {
  uint64_t count = 1;
  for (const Part& part : parts) {
    if (part.ranges.empty()) continue;
    uint64_t numbers = 0;
    for (const NumberRange& range : part.ranges) {
      // size() has at most 19 digits, so one addition cannot overflow.
      numbers = std::min(limit + 1, numbers + range.size());
    }
    count = std::min(limit + 1, count * numbers);
  }
  return count;
}

// Appends every combination, the last bracket counting fastest.
void ExpandParts(const std::vector<Part>& parts,
                 std::vector<std::string>* names) {
  std::vector<std::string> prefixes = {""};
  for (const Part& part : parts) {
    for (std::string& prefix : prefixes) {
      absl::StrAppend(&prefix, part.text);
    }
    if (part.ranges.empty()) continue;
    std::vector<std::string> longer;
    for (const std::string& prefix : prefixes) {
      for (const NumberRange& range : part.ranges) {
        for (uint64_t n = range.first; n <= range.last; n += range.step) {
          longer.push_back(absl::StrCat(prefix, PadNumber(n, range.width)));
        }
      }
    }
    prefixes = std::move(longer);
  }
  names->insert(names->end(), std::make_move_iterator(prefixes.begin()),
                std::make_move_iterator(prefixes.end()));
}

std::vector<std::string> WithoutDuplicates(
    const std::vector<std::string>& names) {
  absl::flat_hash_set<absl::string_view> seen;
  seen.reserve(names.size());
  std::vector<std::string> unique;
  unique.reserve(names.size());
  for (const std::string& name : names) {
    if (seen.insert(name).second) unique.push_back(name);
  }
  return unique;
}

}  // namespace

bool IsHostName(absl::string_view name) {
  if (name.empty() || name.size() > kMaxNameBytes) return false;
  const auto is_alnum = [](char c) {
    return absl::ascii_isalnum(static_cast<unsigned char>(c));
  };
  for (char c : name) {
    if (!is_alnum(c) && c != '.' && c != '-' && c != '_') return false;
  }
  return is_alnum(name.front()) && is_alnum(name.back()) &&
         !absl::StrContains(name, "..");
}

absl::StatusOr<std::vector<std::string>> ExpandHostlist(absl::string_view text,
                                                        size_t max_names) {
  std::vector<std::string> names;
  for (absl::string_view item : SplitItems(text)) {
    if (item.empty()) {
      return Wrong(text, "has an empty name, expected e.g. node[1-8],login");
    }
    ASSIGN_OR_RETURN(const std::vector<Part> parts, ParseItem(item));
    const size_t room = max_names - names.size();
    if (CountNames(parts, room) > room) {
      return Wrong(item, "is too long, expected at most ", max_names, " names");
    }
    if (IsTooLong(parts)) {
      return Wrong(item, "is no host name, expected at most 253 characters");
    }
    const size_t before = names.size();
    ExpandParts(parts, &names);
    for (size_t i = before; i < names.size(); ++i) {
      if (IsHostName(names[i])) continue;
      return Wrong(names[i],
                   "is no host name, expected letters, digits, \".\", \"-\" "
                   "and \"_\" that begin and end with a letter or digit");
    }
  }
  return WithoutDuplicates(names);
}

namespace {

// Longer runs of digits are serial numbers, not counters: they stay text.
constexpr size_t kMaxDigits = 18;

using Ranges = std::vector<std::pair<uint64_t, uint64_t>>;  // Inclusive.
// The combinations of one set of numbers per axis.
using Box = std::vector<Ranges>;

// A name, its counters apart: "rack1n07" is "rack\0n\0" and 1, 07. '\0' marks
// where a counter stood.
struct Name {
  std::string text;
  std::vector<absl::string_view> digits;
};

Name SplitCounters(absl::string_view host) {
  Name name;
  size_t i = 0;
  while (i < host.size()) {
    size_t end = i;
    while (end < host.size() && absl::ascii_isdigit(host[end])) ++end;
    if (end == i || end - i > kMaxDigits) {
      end = std::max(end, i + 1);
      absl::StrAppend(&name.text, host.substr(i, end - i));
    } else {
      name.digits.push_back(host.substr(i, end - i));
      name.text.push_back('\0');
    }
    i = end;
  }
  return name;
}

// All names of one text: for every axis the lengths of its padded numbers.
struct Family {
  std::vector<Name> names;
  std::vector<std::set<size_t>> padded_lengths;
};

void NotePadding(const Name& name, Family* family) {
  family->padded_lengths.resize(name.digits.size());
  for (size_t axis = 0; axis < name.digits.size(); ++axis) {
    const absl::string_view digits = name.digits[axis];
    if (digits.size() > 1 && digits[0] == '0') {
      family->padded_lengths[axis].insert(digits.size());
    }
  }
}

// The width of every counter. "10" belongs to "08" and "09" where they are.
std::vector<int> Widths(const Name& name, const Family& family) {
  std::vector<int> widths;
  for (size_t axis = 0; axis < name.digits.size(); ++axis) {
    const size_t length = name.digits[axis].size();
    const bool padded = family.padded_lengths[axis].count(length) > 0;
    widths.push_back(padded ? static_cast<int>(length) : 0);
  }
  return widths;
}

Ranges Union(Ranges ranges) {
  std::sort(ranges.begin(), ranges.end());
  Ranges joined;
  for (const std::pair<uint64_t, uint64_t>& range : ranges) {
    // One name may stand twice.
    if (!joined.empty() && range.first <= joined.back().second + 1) {
      joined.back().second = std::max(joined.back().second, range.second);
    } else {
      joined.push_back(range);
    }
  }
  return joined;
}

// Joins boxes that differ in `axis` only.
std::vector<Box> JoinAxis(std::vector<Box> boxes, size_t axis) {
  absl::flat_hash_map<Box, Ranges> joined;
  for (Box& box : boxes) {
    const Ranges along = std::move(box[axis]);
    box[axis].clear();
    Ranges& all = joined[box];
    all.insert(all.end(), along.begin(), along.end());
  }
  std::vector<Box> result;
  result.reserve(joined.size());
  for (auto& [rest, along] : joined) {
    Box box = rest;
    box[axis] = Union(std::move(along));
    result.push_back(std::move(box));
  }
  return result;
}

std::string Spell(const Ranges& ranges, int width) {
  const std::string list = absl::StrJoin(
      ranges, ",",
      [width](std::string* out, const std::pair<uint64_t, uint64_t>& range) {
        absl::StrAppend(out, PadNumber(range.first, width));
        if (range.first == range.second) return;
        absl::StrAppend(out, "-", PadNumber(range.second, width));
      });
  const bool single = ranges.size() == 1 && ranges[0].first == ranges[0].second;
  return single ? list : absl::StrCat("[", list, "]");
}

std::string Spell(absl::string_view text, const Box& box,
                  const std::vector<int>& widths) {
  std::string spelt;
  size_t axis = 0;
  for (char c : text) {
    if (c != '\0') {
      spelt.push_back(c);
      continue;
    }
    spelt += Spell(box[axis], widths[axis]);
    ++axis;
  }
  return spelt;
}

void FoldFamily(absl::string_view text, const Family& family,
                std::vector<std::string>* items) {
  std::map<std::vector<int>, std::vector<Box>> by_widths;
  for (const Name& name : family.names) {
    Box box;
    for (absl::string_view digits : name.digits) {
      uint64_t number = 0;
      // At most kMaxDigits digits: cannot fail.
      if (!absl::SimpleAtoi(digits, &number)) number = 0;
      box.push_back({{number, number}});
    }
    by_widths[Widths(name, family)].push_back(std::move(box));
  }
  for (auto& [widths, boxes] : by_widths) {
    for (size_t axis = widths.size(); axis-- > 0;) {
      boxes = JoinAxis(std::move(boxes), axis);
    }
    std::sort(boxes.begin(), boxes.end());
    for (const Box& box : boxes) items->push_back(Spell(text, box, widths));
  }
}

}  // namespace

std::string FoldHostlist(absl::Span<const std::string> hosts) {
  std::map<std::string, Family> families;
  std::set<std::string> others;
  for (const std::string& host : hosts) {
    if (!IsHostName(host)) {
      others.insert(host);
      continue;
    }
    Name name = SplitCounters(host);
    Family& family = families[name.text];
    NotePadding(name, &family);
    family.names.push_back(std::move(name));
  }
  std::vector<std::string> items;
  for (const auto& [text, family] : families) {
    if (family.padded_lengths.empty()) {
      items.push_back(text);
    } else {
      FoldFamily(text, family, &items);
    }
  }
  items.insert(items.end(), others.begin(), others.end());
  return absl::StrJoin(items, ",");
}

}  // namespace clusterd
