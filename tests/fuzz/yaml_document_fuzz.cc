// Any bytes give a tree within the limits or a mistake, never neither.
#include <algorithm>

#include "config/spec/yaml_document.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/fuzz/require.h"

namespace clusterd {
namespace {

int Depth(const YamlNode& node) {
  int deepest = 0;
  for (const auto& item : node.items) deepest = std::max(deepest, Depth(item));
  for (const YamlEntry& entry : node.entries) {
    deepest = std::max(deepest, Depth(entry.value));
  }
  return deepest + 1;
}

FUZZ_TEXT(yaml_document, 1, "tests/testdata/spec/cluster/*.yaml") {
  Mistakes mistakes("f");
  const auto root = ParseYaml(text, YamlLimits(), &mistakes);
  Require(root.has_value() || !mistakes.empty());
  // A text within the innermost list is one level more.
  Require(!root.has_value() || Depth(*root) <= kMaxYamlDepth + 1);
}

}  // namespace
}  // namespace clusterd
