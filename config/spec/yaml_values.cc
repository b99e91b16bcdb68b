#include "config/spec/yaml_values.h"

#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "config/values/nearest_word.h"
#include "config/values/number_list.h"

namespace clusterd {
namespace {

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

}  // namespace

void YamlValue::WrongKind(absl::string_view expected) const {
  const std::string found = Is(YamlNode::Kind::kText)
                                ? absl::StrCat(node_->quoted ? "the text " : "",
                                               QuoteValue(node_->text))
                                : std::string(KindName(node_->kind));
  Wrong(" is ", found, ", expected ", expected);
}

std::optional<std::string> YamlValue::Text() const {
  if (node_ == nullptr) return std::nullopt;
  if (Is(YamlNode::Kind::kText) && !node_->text.empty()) return node_->text;
  WrongKind("text");
  return std::nullopt;
}

std::optional<uint32_t> YamlValue::Number(uint32_t min, uint32_t max) const {
  if (node_ == nullptr) return std::nullopt;
  uint32_t number = 0;
  const bool leading_zero = node_->text.size() > 1 && node_->text[0] == '0';
  if (IsPlain(*node_) && !leading_zero && ParseDigits(node_->text, &number) &&
      number >= min && number <= max) {
    return number;
  }
  WrongKind(absl::StrCat("a number from ", min, " to ", max));
  return std::nullopt;
}

std::optional<bool> YamlValue::Bool() const {
  if (node_ == nullptr) return std::nullopt;
  if (IsPlain(*node_) && node_->text == "true") return true;
  if (IsPlain(*node_) && node_->text == "false") return false;
  WrongKind("true or false");
  return std::nullopt;
}

std::optional<absl::Duration> YamlValue::Duration(absl::Duration min,
                                                  absl::Duration max) const {
  if (node_ == nullptr) return std::nullopt;
  absl::Duration duration;
  if (Is(YamlNode::Kind::kText) &&
      absl::ParseDuration(node_->text, &duration) && duration >= min &&
      duration <= max &&
      duration == absl::Trunc(duration, absl::Milliseconds(1))) {
    return duration;
  }
  WrongKind(absl::StrCat("a duration from ", absl::FormatDuration(min), " to ",
                         absl::FormatDuration(max), ExampleText(min, max)));
  return std::nullopt;
}

std::optional<std::string> YamlValue::Word(
    absl::Span<const absl::string_view> words) const {
  if (node_ == nullptr) return std::nullopt;
  const bool is_text = Is(YamlNode::Kind::kText);
  if (is_text && absl::c_linear_search(words, node_->text)) {
    return node_->text;
  }
  WrongKind(absl::StrCat(absl::StrJoin(words, ", "),
                         is_text ? DidYouMean(node_->text, words) : ""));
  return std::nullopt;
}

YamlMap::YamlMap(const YamlNode* node, absl::string_view path,
                 absl::Span<const absl::string_view> known_keys,
                 Mistakes* mistakes)
    : path_(path), mistakes_(mistakes) {
  if (node == nullptr) return;
  position_ = node->position;
  if (node->kind == YamlNode::Kind::kNothing) return;
  const std::string keys = absl::StrJoin(known_keys, ", ");
  if (node->kind != YamlNode::Kind::kMap) {
    YamlValue(node, path_.empty() ? "the file" : path_, mistakes_)
        .WrongKind(absl::StrCat("a mapping with ", keys));
    return;
  }
  node_ = node;
  int unknown = 0;
  for (const YamlEntry& entry : node_->entries) {
    if (absl::c_linear_search(known_keys, entry.key)) continue;
    if (++unknown > kMaxUnknownKeys) break;
    mistakes_->Add(entry.position, "unknown key ", QuoteValue(entry.key),
                   path_.empty() ? "" : " in ", path_, ", expected ", keys,
                   DidYouMean(entry.key, known_keys));
  }
}

YamlValue YamlMap::operator[](absl::string_view key) const {
  const YamlNode* found = nullptr;
  if (node_ != nullptr) {
    for (const YamlEntry& entry : node_->entries) {
      if (entry.key == key) found = &entry.value;
    }
  }
  return YamlValue(
      found, path_.empty() ? std::string(key) : absl::StrCat(path_, ".", key),
      mistakes_, position_);
}

YamlValue YamlMap::Require(absl::string_view key) const {
  YamlValue value = (*this)[key];
  if (value.node() == nullptr) value.Wrong(" is missing");
  return value;
}

}  // namespace clusterd
