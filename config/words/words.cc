#include "config/words/words.h"

#include <algorithm>
#include <array>

#include "absl/strings/ascii.h"
#include "absl/strings/str_join.h"
#include "absl/strings/substitute.h"
#include "config/values/nearest_word.h"
#include "config/values/value_error.h"
#include "config/words/fact_text.h"

namespace clusterd {
namespace {

// Words that are not in texts/: their values are those of a list.
constexpr char kListed[] = "listed";
// Reasons quote commands and answers.
constexpr size_t kMaxDetailBytes = kMaxWordsTextBytes;
constexpr size_t kMaxDetailWordsBytes = 2000;

// "why-timed-out". A reason of a newer clusterd counts as none.
std::string ReasonName(absl::string_view head, const Missing& missing) {
  const bool is_known = Missing::Reason_IsValid(missing.reason());
  return absl::StrCat(
      head, absl::AsciiStrToLower(absl::StrReplaceAll(
                Missing::Reason_Name(is_known ? missing.reason()
                                              : Missing::REASON_UNSPECIFIED),
                {{"_", "-"}})));
}

// True if the three bytes there are a Han or full-width character.
bool IsWideAt(absl::string_view text, size_t i) {
  const auto lead = static_cast<unsigned char>(text[i]);
  return (lead >= 0xE3 && lead <= 0xE9) || lead == 0xEF;
}

// Chinese rows have a blank before and behind a value, which does not belong
// between two wide characters.
std::string WithoutBlanksInHan(std::string text) {
  for (size_t i = 3; i + 1 < text.size(); ++i) {
    if (text[i] == ' ' && IsWideAt(text, i - 3) && IsWideAt(text, i + 1)) {
      text.erase(i, 1);
    }
  }
  return text;
}

}  // namespace

FindingValue Listed(const std::vector<FindingValue>& values, size_t most) {
  if (values.size() == 1) return values[0];
  const size_t shown = std::min(most, values.size());
  FindingValue list;
  list.set_words(kListed);
  list.mutable_values()->Assign(values.begin(), values.begin() + shown);
  if (shown == values.size()) return list;
  return Worded("first-of", list, values.size() - shown);
}

FindingValue Listed(const std::vector<std::string>& texts, size_t most) {
  const size_t shown = std::min(most, texts.size());
  const FindingValue list =
      ToFindingValue(absl::StrJoin(texts.begin(), texts.begin() + shown, ", "));
  if (shown == texts.size()) return list;
  return Worded("first-of", list, texts.size() - shown);
}

FindingValue DidYouMeanWords(absl::string_view word,
                             absl::Span<const absl::string_view> candidates) {
  const std::string nearest = NearestWord(word, candidates);
  return nearest.empty() ? FindingValue() : Worded("did-you-mean", nearest);
}

FindingValue PlaceWords(const EnvironmentVariable& variable) {
  if (variable.file() == "job file") {
    return Worded("job-file-line", variable.line());
  }
  return ToFindingValue(PlaceOf(variable));
}

FindingValue MissingWords(const Missing* missing) {
  if (missing == nullptr) return Worded("why-not-asked");
  FindingValue why = Worded(ReasonName("why-", *missing));
  if (missing->has_detail_words() &&
      missing->detail_words().ByteSizeLong() <= 32 * kMaxDetailWordsBytes) {
    FindingValue detail = PrintableWords(missing->detail_words());
    if (detail.ByteSizeLong() > kMaxDetailWordsBytes) {
      detail = PrintableWords(std::move(detail), kMaxQuotedBytes);
    }
    if (detail.ByteSizeLong() <= kMaxDetailWordsBytes) {
      return Worded("why-with-detail", why, detail);
    }
  }
  if (missing->detail().empty()) return why;
  return Worded("why-with-detail", why,
                PrintableText(missing->detail(), kMaxDetailBytes));
}

FindingValue LearnWords(const Missing* missing) {
  if (missing == nullptr) return Worded("learn-not-asked");
  // Many programs can fail; only hccn_tool keeps that log.
  if (missing->reason() == Missing::TOOL_FAILED &&
      missing->detail_words().words() == kHccnToolSaid) {
    return Worded("learn-from-tool-log");
  }
  return Worded(ReasonName("learn-", *missing));
}

FindingValue Term(absl::string_view name) {
  FindingValue words =
      Worded(absl::StrCat("term-", absl::StrReplaceAll(name, {{" ", "-"}})));
  return FindWords(words.words()) == nullptr ? ToFindingValue(name) : words;
}

FindingValue Lasting(absl::Duration duration) {
  constexpr absl::Duration kDay = absl::Hours(24);
  return duration < 2 * kDay ? ToFindingValue(DurationText(duration))
                             : Counted(duration / kDay, "day");
}

FindingValue PrintableWords(FindingValue words, size_t max_text_bytes) {
  words.set_words(PrintableText(words.words()));
  words.set_text(PrintableText(words.text(), max_text_bytes));
  for (FindingValue& value : *words.mutable_values()) {
    value = PrintableWords(std::move(value), max_text_bytes);
  }
  return words;
}

std::string WithValuesIn(absl::string_view text, const FindingValues& values) {
  // Most texts have no value, and a cluster may have a finding a device.
  if (text.find('$') == text.npos) return std::string(text);
  std::array<std::string, 10> texts;
  for (size_t at = 0; at + 1 < text.size(); ++at) {
    const int i = text[at + 1] - '0';
    if (text[at] != '$' || i < 0 || i > 9 || i >= values.size()) continue;
    texts[i] = ValueText(values[i]);
  }
  std::string made =
      absl::Substitute(text, texts[0], texts[1], texts[2], texts[3], texts[4],
                       texts[5], texts[6], texts[7], texts[8], texts[9]);
  return CurrentLanguage() == Language::kChinese
             ? WithoutBlanksInHan(std::move(made))
             : made;
}

std::string ValueText(const FindingValue& value) {
  if (value.words().empty()) {
    return value.has_number() ? absl::StrCat(value.number()) : value.text();
  }
  if (value.words() == kListed || value.words() == kLinesWords) {
    const bool is_list = value.words() == kListed;
    return absl::StrJoin(value.values(), is_list ? Say("list-comma") : "\n",
                         [](std::string* out, const FindingValue& each) {
                           absl::StrAppend(out, ValueText(each));
                         });
  }
  const WordRow* const row = FindWords(value.words());
  if (row == nullptr) {
    if (!value.text().empty()) return value.text();
    return absl::StrCat(value.words(),
                        Part(": ", NamedValuesText(value.values())));
  }
  const bool is_one = !value.values().empty() && value.values(0).number() == 1;
  absl::string_view text = row->english;
  if (CurrentLanguage() == Language::kChinese)
    text = row->chinese;
  else if (is_one && !row->english_of_one.empty())
    text = row->english_of_one;
  return WithValuesIn(text, value.values());
}

std::vector<std::string> TextsOf(
    const FindingValue& words,
    const google::protobuf::RepeatedPtrField<std::string>& texts) {
  std::vector<std::string> all(texts.begin(), texts.end());
  for (int i = 0; i < std::min(texts.size(), words.values_size()); ++i) {
    all[i] = ValueText(words.values(i));
  }
  return all;
}

std::string NamedValuesText(const FindingValues& values) {
  return absl::StrJoin(values, ", ", [](std::string* out, const auto& value) {
    absl::StrAppend(out, value.name(), value.name().empty() ? "" : " ",
                    ValueText(value));
  });
}

}  // namespace clusterd
