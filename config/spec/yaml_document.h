// Reads YAML into a tree that knows where everything stands. The only place
// that touches yaml-cpp. Made for configuration: one document; no anchors,
// aliases or tags, so a small file stays small; no key twice.
#ifndef CONFIG_SPEC_YAML_DOCUMENT_H_
#define CONFIG_SPEC_YAML_DOCUMENT_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "config/spec/mistakes.h"

namespace clusterd {

struct YamlEntry;

// One value. Exactly the member of its kind is filled.
struct YamlNode {
  enum class Kind {
    kNothing,  // `key:` with nothing behind it, `~` or `null`.
    kText,     // Every scalar: numbers and booleans are read by yaml_values.h.
    kList,
    kMap,
  };

  Kind kind = Kind::kNothing;
  TextPosition position;
  std::string text;
  // Written in quotes or as a block: never a number or a boolean.
  bool quoted = false;
  std::vector<YamlNode> items;
  // In the order of the file; keys are unique.
  std::vector<YamlEntry> entries;
};

struct YamlEntry {
  std::string key;
  TextPosition position;
  YamlNode value;
};

// "nothing", "text", "a list" or "a mapping".
absl::string_view KindName(YamlNode::Kind kind);

struct YamlLimits {
  size_t max_bytes = 1 << 20;
  // Values and keys, each counted.
  size_t max_nodes = 1 << 16;
};

// Lists and mappings within each other.
inline constexpr int kMaxYamlDepth = 16;

// The document's top value. Records every mistake it finds: not UTF-8, control
// characters, tabs in the indentation, what YAML does not allow, anchors,
// aliases, tags, keys that are no text or stand twice (the first one stays),
// a second document, over the limits. Empty text is a mistake too. nullopt if
// the tree would be incomplete, so nothing further can be said.
std::optional<YamlNode> ParseYaml(absl::string_view text,
                                  const YamlLimits& limits, Mistakes* mistakes);

}  // namespace clusterd

#endif  // CONFIG_SPEC_YAML_DOCUMENT_H_
