#include "config/values/hostlist.h"

#include <algorithm>

#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
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

}  // namespace clusterd
