// Typed values out of a YAML tree. A value that is not what it should be is
// recorded with its place, what was found and what was expected, and reading
// goes on: `nullopt` means absent or recorded, so a caller takes the default
// and need not ask which.
//
//   YamlMap map(&root, "", {"listen", "deadline"}, &mistakes);
//   config.listen = map.RequireText("listen");
//   config.deadline = map.Duration("deadline", Seconds(1), Minutes(5))
//                         .value_or(Seconds(10));
#ifndef CONFIG_SPEC_YAML_VALUES_H_
#define CONFIG_SPEC_YAML_VALUES_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "config/spec/mistakes.h"
#include "config/spec/yaml_document.h"

namespace clusterd {

// `subject` opens a message, e.g. "hccl.base_port". All of them record and
// return nullopt if the node is something else.

// Any non-empty scalar, also `5` or `true`.
std::optional<std::string> ReadText(const YamlNode& node,
                                    absl::string_view subject,
                                    Mistakes* mistakes);
// Decimal digits, not quoted, no leading zeros; `min` to `max`.
std::optional<uint32_t> ReadNumber(const YamlNode& node,
                                   absl::string_view subject, uint32_t min,
                                   uint32_t max, Mistakes* mistakes);
// `true` or `false`, not quoted.
std::optional<bool> ReadBool(const YamlNode& node, absl::string_view subject,
                             Mistakes* mistakes);
// "10s", "500ms", "1m30s"; whole milliseconds, `min` to `max`.
std::optional<absl::Duration> ReadDuration(const YamlNode& node,
                                           absl::string_view subject,
                                           absl::Duration min,
                                           absl::Duration max,
                                           Mistakes* mistakes);
// One of `words`; a mistake names the nearest one.
std::optional<std::string> ReadWord(const YamlNode& node,
                                    absl::string_view subject,
                                    absl::Span<const absl::string_view> words,
                                    Mistakes* mistakes);

// A mapping with known keys. Keeps pointers to the tree and to the mistakes.
class YamlMap {
 public:
  // Records unless `node` is a mapping, and every key (of the first 100) that
  // is not among `known_keys` with the nearest one that is. nullptr, "nothing"
  // and what is no mapping are read as an empty mapping. `path` names it in
  // messages, e.g. "hccl"; empty: the file.
  YamlMap(const YamlNode* node, absl::string_view path,
          absl::Span<const absl::string_view> known_keys, Mistakes* mistakes);

  // nullptr if absent.
  const YamlNode* Find(absl::string_view key) const;
  // Also records the absence.
  const YamlNode* Require(absl::string_view key) const;
  // Of the key's value; of the mapping if it is absent.
  TextPosition PositionOf(absl::string_view key) const;
  TextPosition position() const { return position_; }
  // "hccl.base_port".
  std::string Subject(absl::string_view key) const;

  std::optional<std::string> Text(absl::string_view key) const;
  // Empty if absent or wrong, which is then recorded.
  std::string RequireText(absl::string_view key) const;
  std::optional<uint32_t> Number(absl::string_view key, uint32_t min,
                                 uint32_t max) const;
  std::optional<bool> Bool(absl::string_view key) const;
  std::optional<absl::Duration> Duration(absl::string_view key,
                                         absl::Duration min,
                                         absl::Duration max) const;
  std::optional<std::string> Word(
      absl::string_view key, absl::Span<const absl::string_view> words) const;
  // Every item that is text; what is no list, and items that are not, are
  // recorded.
  std::optional<std::vector<std::string>> TextList(absl::string_view key) const;

 private:
  const YamlNode* node_ = nullptr;  // A mapping, or nullptr.
  std::string path_;
  TextPosition position_;
  Mistakes* mistakes_;
};

}  // namespace clusterd

#endif  // CONFIG_SPEC_YAML_VALUES_H_
