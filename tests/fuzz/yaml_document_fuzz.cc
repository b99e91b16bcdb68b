// Any bytes give a tree within the limits or a mistake, never neither.
#include <algorithm>

#include "config/spec/yaml_document.h"
#include "tests/fuzz/require.h"
#include "tests/fuzz/text_input.h"

namespace {

int Depth(const clusterd::YamlNode& node) {
  int deepest = 0;
  for (const auto& item : node.items) deepest = std::max(deepest, Depth(item));
  for (const clusterd::YamlEntry& entry : node.entries) {
    deepest = std::max(deepest, Depth(entry.value));
  }
  return deepest + 1;
}

}  // namespace

void clusterd::FuzzText(const std::string& text) {
  Mistakes mistakes("f");
  const auto root = ParseYaml(text, YamlLimits(), &mistakes);
  Require(root.has_value() || !mistakes.empty());
  // A text within the innermost list is one level more.
  Require(!root.has_value() || Depth(*root) <= kMaxYamlDepth + 1);
}
