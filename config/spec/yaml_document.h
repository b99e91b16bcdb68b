// Reads YAML into a tree with positions. The only file that uses yaml-cpp. Made
// for configuration: one document; no anchors, aliases or tags, so a small file
// stays small; no key twice.
//
// Also reads typed values out of that tree. An invalid value is recorded with
// its position, what was found and what was expected, and reading goes on.
// `nullopt` means absent or recorded: the caller takes the default either way.
//
//   YamlMap map(&root, "", {"listen", "deadline"}, &mistakes);
//   config.listen = map.RequireText("listen");
//   config.deadline = map["deadline"].Duration(Seconds(1), Minutes(5))
//                         .value_or(Seconds(10));
#ifndef CONFIG_SPEC_YAML_DOCUMENT_H_
#define CONFIG_SPEC_YAML_DOCUMENT_H_

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "config/spec/mistakes.h"

namespace clusterd {

struct YamlEntry;

// One value. Exactly the member of its kind is filled.
struct YamlNode {
  enum class Kind {
    kNothing,  // `key:` with nothing after it, `~` or `null`.
    kText,     // Every scalar: numbers and booleans are read by YamlValue.
    kList,
    kMap,
  };

  Kind kind = Kind::kNothing;
  TextPosition position;
  std::string text;
  // Written in quotes or as a block: never a number or a boolean.
  bool quoted = false;
  std::vector<YamlNode> items;
  // Follow the order of the file; keys are unique.
  std::vector<YamlEntry> entries;
  // Those whose key stands among `entries`: a mistake, and recorded.
  std::vector<YamlEntry> repeats;
};

struct YamlEntry {
  std::string key;
  TextPosition position;
  YamlNode value;
};

struct YamlLimits {
  size_t max_bytes = 1 << 20;
  // Values and keys, each counted.
  size_t max_nodes = 1 << 16;
};

// Lists and mappings within each other.
inline constexpr int kMaxYamlDepth = 16;

// The document's top value. Records every mistake it finds: not UTF-8, control
// characters, tabs in the indentation, invalid YAML, anchors, aliases, tags,
// keys that are not text or stand twice (the first one stays), a second
// document, over the limits. Empty text is a mistake too. nullopt if the tree
// would be incomplete.
std::optional<YamlNode> ParseYaml(absl::string_view text,
                                  const YamlLimits& limits, Mistakes* mistakes);

// Parses the text and calls read(tree, mistakes). For repeated keys it then
// takes their next values and calls again, up to kMaxReadings times, so that
// one mistake does not hide others; each mistake is recorded once.
// InvalidArgument with every mistake: then discard the results of `read`.
absl::Status ReadYaml(absl::string_view file_name, absl::string_view text,
                      const YamlLimits& limits,
                      absl::FunctionRef<void(const YamlNode&, Mistakes*)> read);
inline constexpr int kMaxReadings = 8;

// The value at one place of the file, or its absence. Keeps pointers to the
// tree and to the mistakes. The readers record an invalid value and return
// nullopt; an absent value is nullopt and not a mistake.
class YamlValue {
 public:
  // `node` is nullptr if it is absent; `subject`, a text or words, opens
  // messages, e.g. "hccl.base_port".
  template <typename Subject>
  YamlValue(const YamlNode* node, const Subject& subject, Mistakes* mistakes,
            TextPosition where_absent = {})
      : node_(node),
        position_(node == nullptr ? where_absent : node->position),
        subject_(ToFindingValue(subject)),
        mistakes_(mistakes) {}

  const YamlNode* node() const { return node_; }
  bool Is(YamlNode::Kind kind) const {
    return node_ != nullptr && node_->kind == kind;
  }
  // The position of the mapping if the value is absent.
  TextPosition position() const { return position_; }
  const FindingValue& subject() const { return subject_; }
  Mistakes* mistakes() const { return mistakes_; }

  // Any non-empty scalar, also `5` or `true`.
  std::optional<std::string> Text() const;
  // Decimal digits, not quoted, no leading zeros; `min` to `max`.
  std::optional<uint32_t> Number(uint32_t min, uint32_t max) const;
  // `true` or `false`, not quoted.
  std::optional<bool> Bool() const;
  // "10s", "500ms", "1m30s"; whole milliseconds, `min` to `max`.
  std::optional<absl::Duration> Duration(absl::Duration min,
                                         absl::Duration max) const;
  // One of `words`; a mistake names the nearest one.
  std::optional<std::string> Word(
      absl::Span<const absl::string_view> words) const;
  // Text that `parse` makes a value of; its error is the mistake. `parse`:
  // StatusOr<T>(const std::string&).
  template <typename Parse>
  auto Parsed(Parse parse) const {
    using Result = decltype(parse(std::string()));
    std::optional<typename Result::value_type> value;
    const std::optional<std::string> text = Text();
    if (!text.has_value()) return value;
    Result parsed = parse(*text);
    if (parsed.ok()) {
      value = *std::move(parsed);
    } else {
      Wrong("spec-of", MessageWords(parsed.status()));
    }
    return value;
  }

  // The items of a list, under its subject; any other value, or an absent one,
  // is the only item.
  std::vector<YamlValue> Items() const;

  // A part of the value, under a subject of its own.
  template <typename Subject>
  YamlValue Inner(const YamlNode& node, const Subject& subject) const {
    return YamlValue(&node, subject, mistakes_);
  }

  // Records the words of that row: the subject is their first value.
  template <typename... Values>
  void Wrong(absl::string_view row, const Values&... values) const {
    mistakes_->Add(position_, row, subject_, values...);
  }
  // Records "SUBJECT is WHAT STANDS THERE, expected …", the words of that row,
  // unless it is absent.
  template <typename... Values>
  std::nullopt_t WrongKind(absl::string_view row,
                           const Values&... values) const {
    if (node_ != nullptr) {
      Wrong("msg-spec-wrong-value", Found(), Worded(row, values...));
    }
    return std::nullopt;
  }

 private:
  // Describes the value. REQUIRES: it is not absent.
  FindingValue Found() const;
  bool IsPlain() const { return Is(YamlNode::Kind::kText) && !node_->quoted; }

  const YamlNode* node_;
  TextPosition position_;
  FindingValue subject_;
  Mistakes* mistakes_;
};

// A mapping with known keys. Keeps pointers to the tree and to the mistakes.
class YamlMap {
 public:
  // Records unless `node` is a mapping, and every unknown key (of the first
  // 100) with the nearest known one. nullptr, "nothing" and values that are not
  // mappings are read as an empty mapping. `path` names it in messages, e.g.
  // "servers[3]"; empty: the file. `table` has all keys of the file, those of
  // this mapping as "servers[].hosts": see config/spec/keys.
  YamlMap(const YamlNode* node, absl::string_view path,
          absl::Span<const absl::string_view> table, Mistakes* mistakes);

  YamlValue operator[](absl::string_view key) const;
  // Also records the absence.
  YamlValue Require(absl::string_view key) const;
  TextPosition position() const { return position_; }

  // Empty if absent or wrong; both are recorded.
  std::string RequireText(absl::string_view key) const {
    return Require(key).Text().value_or("");
  }

 private:
  const YamlNode* node_ = nullptr;  // A mapping, or nullptr.
  std::string path_;
  TextPosition position_;
  Mistakes* mistakes_;
};

}  // namespace clusterd

#endif  // CONFIG_SPEC_YAML_DOCUMENT_H_
