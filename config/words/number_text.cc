#include "config/words/number_text.h"

#include <iterator>
#include <limits>

#include "absl/algorithm/container.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "config/words/words.h"

namespace clusterd {

std::string Count(size_t number, absl::string_view singular) {
  if (CurrentLanguage() == Language::kChinese) {
    return ValueText(Counted(number, singular));
  }
  return absl::StrCat(number, " ", singular, number == 1 ? "" : "s");
}

std::string LimitText(uint64_t limit) {
  return limit == std::numeric_limits<uint64_t>::max() ? Say("is-unlimited")
                                                       : absl::StrCat(limit);
}

std::string DurationText(absl::Duration duration) {
  const int64_t ms = absl::ToInt64Milliseconds(duration);
  if (ms <= 0) return "0 s";
  if (ms < 10) return absl::StrCat(ms, " ms");
  if (ms < 10'000) return absl::StrFormat("%d.%d s", ms / 1000, ms / 100 % 10);
  const int64_t seconds = ms / 1000;
  if (seconds < 120) return absl::StrCat(seconds, " s");
  if (seconds < 2 * 3600) return absl::StrCat(seconds / 60, " min");
  if (seconds < 2 * 86400) return absl::StrCat(seconds / 3600, " h");
  return Count(seconds / 86400, "day");
}

std::string ElapsedText(uint64_t elapsed_ms) {
  return DurationText(absl::Milliseconds(elapsed_ms));
}

std::string UtcText(absl::Time time) {
  return absl::FormatTime(absl::RFC3339_sec, time, absl::UTCTimeZone());
}

std::string UtcMinute(absl::Time time) {
  return absl::FormatTime("%Y-%m-%d %H:%M UTC", time, absl::UTCTimeZone());
}

std::string AgeText(int64_t unix_ms, absl::Time now) {
  if (unix_ms == 0) return Say("never");
  return DurationText(now - absl::FromUnixMillis(unix_ms));
}

std::string Part(absl::string_view head, absl::string_view text) {
  return text.empty() ? "" : absl::StrCat(head, text);
}

std::string Part(size_t count, absl::string_view what) {
  return count == 0 ? "" : absl::StrCat(count, " ", what);
}

std::string JoinParts(absl::string_view between,
                      std::initializer_list<absl::string_view> parts) {
  std::vector<absl::string_view> shown;
  absl::c_copy_if(parts, std::back_inserter(shown),
                  [](absl::string_view part) { return !part.empty(); });
  return absl::StrJoin(
      shown, CurrentLanguage() == Language::kEnglish
                 ? std::string(between)
                 : absl::StrReplaceAll(
                       between, {{", ", "，"}, {"; ", "；"}, {": ", "："}}));
}

std::string FirstOf(const std::vector<std::string>& texts, size_t most) {
  const std::string first =
      absl::StrJoin(texts.begin(), texts.begin() + std::min(most, texts.size()),
                    CurrentLanguage() == Language::kEnglish ? ", " : "、");
  if (texts.size() <= most) return first;
  return Say("first-of", first, texts.size() - most);
}

}  // namespace clusterd
