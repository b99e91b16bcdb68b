// Words in both languages: rows of texts/*.textproto here and of
// config/rules/texts, by name, with values. A row is checked by the build: its
// translation must be there and have the same values.
#ifndef CONFIG_WORDS_WORDS_H_
#define CONFIG_WORDS_WORDS_H_

#include <string>
#include <type_traits>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "config/words/terminal.h"
#include "google/protobuf/repeated_ptr_field.h"
#include "proto/facts.pb.h"
#include "proto/finding.pb.h"

namespace clusterd {

using FindingValues = google::protobuf::RepeatedPtrField<FindingValue>;

// A value without its name.
template <typename Value>
FindingValue ToFindingValue(const Value& value) {
  if constexpr (std::is_same_v<Value, FindingValue>) {
    return value;
  } else {
    FindingValue made;
    if constexpr (std::is_integral_v<Value>) {
      made.set_number(static_cast<int64_t>(value));
    } else {
      made.set_text(absl::StrCat(value));
    }
    return made;
  }
}

// True for a text or words.
inline bool IsSaid(const FindingValue& value) {
  return !value.words().empty() || !value.text().empty();
}

// Words of texts/ with their values, as a value.
template <typename... Values>
FindingValue Worded(absl::string_view name, const Values&... values) {
  FindingValue words;
  words.set_words(std::string(name));
  (void(*words.add_values() = ToFindingValue(values)), ...);
  return words;
}

// "a, b and 3 more": at most that many of the values, or texts that are the
// same in every language. REQUIRES: not empty.
FindingValue Listed(const std::vector<FindingValue>& values, size_t most);
FindingValue Listed(const std::vector<std::string>& texts, size_t most);

// ", did you mean "smp"?"; empty where no candidate is near.
FindingValue DidYouMeanWords(absl::string_view word,
                             absl::Span<const absl::string_view> candidates);

// Words without a row, whose values are rendered as a line each (message.h).
inline constexpr char kLinesWords[] = "lines";

// "/etc/profile.d/hccl.sh:3".
FindingValue PlaceWords(const EnvironmentVariable& variable);

// The detail of a fact that is missing because hccn_tool failed.
inline constexpr char kHccnToolSaid[] = "fact-hccn-tool-said";

// Why a fact is missing, and how to learn it; nullptr: it was not asked for.
FindingValue MissingWords(const Missing* missing);
FindingValue LearnWords(const Missing* missing);

// The texts, the first ones in the current language: from the values of
// `words`.
std::vector<std::string> TextsOf(
    const FindingValue& words,
    const google::protobuf::RepeatedPtrField<std::string>& texts);

inline constexpr size_t kMaxWordsTextBytes = 600;

// Words of a host or tool, whose texts may be any bytes, as printable ones, cut
// after so many bytes each.
FindingValue PrintableWords(FindingValue words,
                            size_t max_text_bytes = kMaxWordsTextBytes);

// A text of a row with its values, of which it may have ten.
std::string WithValuesIn(absl::string_view text, const FindingValues& values);

// "port 16666, owner ann": values that have no row here.
std::string NamedValuesText(const FindingValues& values);

// Unknown words, of a newer controller, become their text, or name and values.
std::string ValueText(const FindingValue& value);

// "16 devices" as a value. REQUIRES: the nouns of texts/ have it.
inline FindingValue Counted(size_t number, absl::string_view singular) {
  return Worded(
      absl::StrCat("count-", absl::StrReplaceAll(singular, {{" ", "-"}})),
      number);
}

// "net health" in the words of the row "term-net-health"; without a row it is
// the same in every language, e.g. the name of a kernel parameter.
FindingValue Term(absl::string_view name);
inline FindingValue Term(FindingValue words) { return words; }

// "12 s", "3 min", "2 h", "5 days" as a value.
FindingValue Lasting(absl::Duration duration);

// The words of that row in the current language. REQUIRES: there is such a row.
template <typename... Values>
std::string Say(absl::string_view name, const Values&... values) {
  return ValueText(Worded(name, values...));
}

// The same with one value; empty for an empty text or for none.
template <typename Value>
std::string SayPart(absl::string_view name, const Value& value) {
  return value == Value() ? "" : Say(name, value);
}

}  // namespace clusterd

#endif  // CONFIG_WORDS_WORDS_H_
