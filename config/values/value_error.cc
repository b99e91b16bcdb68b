#include "config/values/value_error.h"

#include <string>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/cord.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_replace.h"
#include "config/values/status_macros.h"
#include "config/values/text_form.h"

namespace clusterd {
namespace {

#include "config/rules/texts/word_table.inc"

constexpr size_t kMaxQuotedBytes = 80;

}  // namespace

const WordRow* FindWords(absl::string_view name) {
  static const auto* const words = [] {
    auto* made = new absl::flat_hash_map<absl::string_view, const WordRow*>;
    for (const WordRow& row : kWordRows) (*made)[row.name] = &row;
    return made;
  }();
  const auto found = words->find(name);
  return found == words->end() ? nullptr : found->second;
}

FindingValue ErrorValue(const absl::AlphaNum& value) {
  // A message takes only valid UTF-8.
  static const LazyRE2 kUtf8 = {R"((?s)[^\x{d800}-\x{dfff}]*)"};
  const absl::string_view text = CutUtf8(value.Piece(), kMaxQuotedBytes);
  FindingValue made;
  made.set_text(HasForm(text, *kUtf8) ? absl::Utf8SafeCEscape(text)
                                      : absl::CEscape(text));
  return made;
}

FindingValue ErrorValue(const absl::Status& error) {
  FindingValue made;
  const auto words = error.GetPayload(kMessageWords);
  if (words.has_value()) made.ParseFromString(std::string(*words));
  made.set_text(std::string(error.message()));
  return made;
}

FindingValue ErrorWords(absl::string_view row,
                        const std::vector<FindingValue>& values) {
  FindingValue words;
  words.set_words(std::string(row));
  std::vector<std::pair<std::string, std::string>> texts = {{"$$", "$"}};
  for (const FindingValue& value : values) {
    texts.emplace_back(absl::StrCat("$", texts.size() - 1), value.text());
    *words.add_values() = value;
  }
  words.set_text(absl::StrReplaceAll(FindWords(row)->english, texts));
  return words;
}

absl::Status ErrorIn(absl::StatusCode code, const FindingValue& words) {
  absl::Status error(code, words.text());
  error.SetPayload(kMessageWords, absl::Cord(words.SerializeAsString()));
  return error;
}

absl::Status InFront(absl::string_view what, const absl::Status& status) {
  if (status.ok()) return status;
  absl::Status made(status.code(), absl::StrCat(what, ": ", status.message()));
  status.ForEachPayload([&](absl::string_view key, const absl::Cord& old) {
    FindingValue words;
    words.set_words("about");
    words.add_values()->set_text(std::string(what));
    if (words.add_values()->ParseFromString(std::string(old))) {
      made.SetPayload(key, absl::Cord(words.SerializeAsString()));
    }
  });
  return made;
}

}  // namespace clusterd
