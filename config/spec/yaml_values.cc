#include "config/spec/yaml_values.h"

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "config/spec/nearest_word.h"

namespace clusterd {
namespace {

// What stands there, as a person would point at it.
std::string Found(const YamlNode& node) {
  if (node.kind == YamlNode::Kind::kText && !node.quoted) {
    return QuoteValue(node.text);
  }
  if (node.kind == YamlNode::Kind::kText) {
    return absl::StrCat("the text ", QuoteValue(node.text));
  }
  return std::string(KindName(node.kind));
}

void AddWrong(const YamlNode& node, absl::string_view subject,
              absl::string_view expected, Mistakes* mistakes) {
  mistakes->Add(node.position, absl::StrCat(subject, " is ", Found(node),
                                            ", expected ", expected));
}

// " such as 10s or 500ms": two that the range holds; empty: none fits.
std::string ExampleText(absl::Duration min, absl::Duration max) {
  std::vector<std::string> examples;
  for (const absl::Duration example :
       {absl::Seconds(10), absl::Milliseconds(500), absl::Minutes(5),
        absl::Milliseconds(20), absl::Hours(2)}) {
    if (example < min || example > max || examples.size() == 2) continue;
    examples.push_back(absl::FormatDuration(example));
  }
  if (examples.empty()) return "";
  return absl::StrCat(" such as ", absl::StrJoin(examples, " or "));
}

// A mapping of another kind of file should not be spelt out.
constexpr int kMaxUnknownKeys = 100;

bool IsPlain(const YamlNode& node) {
  return node.kind == YamlNode::Kind::kText && !node.quoted;
}

bool IsDecimal(absl::string_view text) {
  if (text.empty() || (text.size() > 1 && text[0] == '0')) return false;
  return std::all_of(text.begin(), text.end(), absl::ascii_isdigit);
}

}  // namespace

std::optional<std::string> ReadText(const YamlNode& node,
                                    absl::string_view subject,
                                    Mistakes* mistakes) {
  if (node.kind != YamlNode::Kind::kText || node.text.empty()) {
    AddWrong(node, subject, "text", mistakes);
    return std::nullopt;
  }
  return node.text;
}

std::optional<uint32_t> ReadNumber(const YamlNode& node,
                                   absl::string_view subject, uint32_t min,
                                   uint32_t max, Mistakes* mistakes) {
  uint32_t number = 0;
  if (!IsPlain(node) || !IsDecimal(node.text) ||
      !absl::SimpleAtoi(node.text, &number) || number < min || number > max) {
    AddWrong(node, subject, absl::StrCat("a number from ", min, " to ", max),
             mistakes);
    return std::nullopt;
  }
  return number;
}

std::optional<bool> ReadBool(const YamlNode& node, absl::string_view subject,
                             Mistakes* mistakes) {
  if (IsPlain(node) && node.text == "true") return true;
  if (IsPlain(node) && node.text == "false") return false;
  AddWrong(node, subject, "true or false", mistakes);
  return std::nullopt;
}

std::optional<absl::Duration> ReadDuration(const YamlNode& node,
                                           absl::string_view subject,
                                           absl::Duration min,
                                           absl::Duration max,
                                           Mistakes* mistakes) {
  absl::Duration duration;
  const bool parsed = node.kind == YamlNode::Kind::kText &&
                      absl::ParseDuration(node.text, &duration);
  if (!parsed || duration < min || duration > max ||
      duration != absl::Trunc(duration, absl::Milliseconds(1))) {
    AddWrong(node, subject,
             absl::StrCat("a duration from ", absl::FormatDuration(min), " to ",
                          absl::FormatDuration(max), ExampleText(min, max)),
             mistakes);
    return std::nullopt;
  }
  return duration;
}

std::optional<std::string> ReadWord(const YamlNode& node,
                                    absl::string_view subject,
                                    absl::Span<const absl::string_view> words,
                                    Mistakes* mistakes) {
  if (node.kind == YamlNode::Kind::kText &&
      std::find(words.begin(), words.end(), node.text) != words.end()) {
    return node.text;
  }
  const std::string hint = node.kind == YamlNode::Kind::kText
                               ? DidYouMean(node.text, words)
                               : std::string();
  AddWrong(node, subject, absl::StrCat(absl::StrJoin(words, ", "), hint),
           mistakes);
  return std::nullopt;
}

YamlMap::YamlMap(const YamlNode* node, absl::string_view path,
                 absl::Span<const absl::string_view> known_keys,
                 Mistakes* mistakes)
    : path_(path), mistakes_(mistakes) {
  if (node == nullptr) return;
  position_ = node->position;
  if (node->kind == YamlNode::Kind::kNothing) return;
  if (node->kind != YamlNode::Kind::kMap) {
    AddWrong(*node, path_.empty() ? "the file" : path_,
             absl::StrCat("a mapping with ", absl::StrJoin(known_keys, ", ")),
             mistakes_);
    return;
  }
  node_ = node;
  int unknown = 0;
  for (const YamlEntry& entry : node_->entries) {
    if (std::find(known_keys.begin(), known_keys.end(), entry.key) !=
        known_keys.end()) {
      continue;
    }
    if (++unknown > kMaxUnknownKeys) break;
    mistakes_->Add(entry.position,
                   absl::StrCat("unknown key ", QuoteValue(entry.key),
                                path_.empty() ? "" : " in ", path_,
                                ", expected ", absl::StrJoin(known_keys, ", "),
                                DidYouMean(entry.key, known_keys)));
  }
}

const YamlNode* YamlMap::Find(absl::string_view key) const {
  if (node_ == nullptr) return nullptr;
  for (const YamlEntry& entry : node_->entries) {
    if (entry.key == key) return &entry.value;
  }
  return nullptr;
}

const YamlNode* YamlMap::Require(absl::string_view key) const {
  const YamlNode* node = Find(key);
  if (node == nullptr) {
    mistakes_->Add(position_, absl::StrCat(Subject(key), " is missing"));
  }
  return node;
}

TextPosition YamlMap::PositionOf(absl::string_view key) const {
  const YamlNode* node = Find(key);
  return node == nullptr ? position_ : node->position;
}

std::string YamlMap::Subject(absl::string_view key) const {
  return path_.empty() ? std::string(key) : absl::StrCat(path_, ".", key);
}

std::optional<std::string> YamlMap::Text(absl::string_view key) const {
  const YamlNode* node = Find(key);
  if (node == nullptr) return std::nullopt;
  return ReadText(*node, Subject(key), mistakes_);
}

std::string YamlMap::RequireText(absl::string_view key) const {
  const YamlNode* node = Require(key);
  if (node == nullptr) return "";
  return ReadText(*node, Subject(key), mistakes_).value_or("");
}

std::optional<uint32_t> YamlMap::Number(absl::string_view key, uint32_t min,
                                        uint32_t max) const {
  const YamlNode* node = Find(key);
  if (node == nullptr) return std::nullopt;
  return ReadNumber(*node, Subject(key), min, max, mistakes_);
}

std::optional<bool> YamlMap::Bool(absl::string_view key) const {
  const YamlNode* node = Find(key);
  if (node == nullptr) return std::nullopt;
  return ReadBool(*node, Subject(key), mistakes_);
}

std::optional<absl::Duration> YamlMap::Duration(absl::string_view key,
                                                absl::Duration min,
                                                absl::Duration max) const {
  const YamlNode* node = Find(key);
  if (node == nullptr) return std::nullopt;
  return ReadDuration(*node, Subject(key), min, max, mistakes_);
}

std::optional<std::string> YamlMap::Word(
    absl::string_view key, absl::Span<const absl::string_view> words) const {
  const YamlNode* node = Find(key);
  if (node == nullptr) return std::nullopt;
  return ReadWord(*node, Subject(key), words, mistakes_);
}

std::optional<std::vector<std::string>> YamlMap::TextList(
    absl::string_view key) const {
  const YamlNode* node = Find(key);
  if (node == nullptr) return std::nullopt;
  if (node->kind != YamlNode::Kind::kList) {
    AddWrong(*node, Subject(key), "a list", mistakes_);
    return std::nullopt;
  }
  std::vector<std::string> texts;
  for (size_t i = 0; i < node->items.size(); ++i) {
    std::optional<std::string> text = ReadText(
        node->items[i], absl::StrCat(Subject(key), "[", i, "]"), mistakes_);
    if (text.has_value()) texts.push_back(*std::move(text));
  }
  return texts;
}

}  // namespace clusterd
