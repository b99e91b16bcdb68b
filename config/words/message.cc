#include "config/words/message.h"

#include "absl/strings/cord.h"
#include "absl/strings/str_split.h"
#include "config/values/nearest_word.h"

namespace clusterd {

std::string EnglishText(const FindingValue& value) {
  const InLanguage english(Language::kEnglish);
  return ValueText(value);
}

absl::Status WithWords(absl::Status status, const FindingValue& words) {
  absl::Status worded(status.code(), EnglishText(words));
  worded.SetPayload(kMessageWords, absl::Cord(words.SerializeAsString()));
  return worded;
}

FindingValue Lines(const std::vector<FindingValue>& lines) {
  FindingValue all;
  all.set_words(kLinesWords);
  all.mutable_values()->Assign(lines.begin(), lines.end());
  return all;
}

FindingValue NearestWords(absl::string_view word,
                          absl::Span<const absl::string_view> candidates) {
  const std::string nearest = NearestWord(word, candidates);
  return nearest.empty() ? FindingValue()
                         : Worded("spec-did-you-mean", nearest);
}

FindingValue MessageWords(const absl::Status& error) {
  FindingValue words;
  const auto payload = error.GetPayload(kMessageWords);
  if (payload.has_value() && words.ParseFromString(std::string(*payload))) {
    return words;
  }
  return ValueErrorWords(error.message());
}

std::vector<FindingValue> MessageLines(const absl::Status& error) {
  const FindingValue words = MessageWords(error);
  if (words.words() == kLinesWords && !words.values().empty()) {
    return {words.values().begin(), words.values().end()};
  }
  if (!words.words().empty()) return {words};
  std::vector<FindingValue> lines;
  for (const absl::string_view line : absl::StrSplit(words.text(), '\n')) {
    lines.push_back(ToFindingValue(line));
  }
  return lines;
}

}  // namespace clusterd
