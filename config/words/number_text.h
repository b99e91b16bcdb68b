// Numbers and times for people: "3 steps", "0.8 s", "12 s", "3 min", "2 h", "5
// days"; and texts of optional parts.
#ifndef CONFIG_WORDS_NUMBER_TEXT_H_
#define CONFIG_WORDS_NUMBER_TEXT_H_

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace clusterd {

// "1 device", "16 devices".
std::string Count(size_t number, absl::string_view singular);

// "1024"; the largest number there is means "unlimited".
std::string LimitText(uint64_t limit);

// One unit, rounded down; a negative duration (clocks that disagree) is "0 s".
std::string DurationText(absl::Duration duration);

// The same for a run that took this many milliseconds.
std::string ElapsedText(uint64_t elapsed_ms);

// Whole milliseconds, as a field of a message takes them.
template <typename Field = uint32_t>
Field ToMs(absl::Duration duration) {
  return static_cast<Field>(absl::ToInt64Milliseconds(duration));
}

// A moment in UTC, as logs and messages have it: "2025-01-01T01:00:00+00:00".
std::string UtcText(absl::Time time);
inline std::string UtcText(int64_t unix_ms) {
  return UtcText(absl::FromUnixMillis(unix_ms));
}

// The same to the minute, for people: "2025-01-01 01:00 UTC".
std::string UtcMinute(absl::Time time);

// The time between the moment `unix_ms` and `now`. "never" if it is 0.
std::string AgeText(int64_t unix_ms, absl::Time now);

// "by ann"; empty if `text` is.
std::string Part(absl::string_view head, absl::string_view text);

// "2 drifted"; empty for none.
std::string Part(size_t count, absl::string_view what);

// "10 applied, 1 undone", from pairs of a word and a number.
template <typename Counts>
std::string CountsList(const Counts& counts) {
  return absl::StrJoin(counts, ", ", [](std::string* out, const auto& count) {
    absl::StrAppend(out, count.second, " ", count.first);
  });
}

// The parts that are not empty, with `between` between them; ", ", "; " and
// ": " are full-width in Chinese.
std::string JoinParts(absl::string_view between,
                      std::initializer_list<absl::string_view> parts);

// "a, b and 3 more": at most that many of the texts. REQUIRES: not empty.
std::string FirstOf(const std::vector<std::string>& texts, size_t most);

}  // namespace clusterd

#endif  // CONFIG_WORDS_NUMBER_TEXT_H_
