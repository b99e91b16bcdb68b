// Any bytes give a tree within the limits or a mistake, never neither.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "config/spec/yaml_document.h"

namespace {

int Depth(const clusterd::YamlNode& node) {
  int deepest = 0;
  for (const clusterd::YamlNode& item : node.items) {
    deepest = std::max(deepest, Depth(item));
  }
  for (const clusterd::YamlEntry& entry : node.entries) {
    deepest = std::max(deepest, Depth(entry.value));
  }
  return deepest + 1;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  clusterd::Mistakes mistakes("f");
  const std::optional<clusterd::YamlNode> root =
      clusterd::ParseYaml(text, clusterd::YamlLimits(), &mistakes);
  if (!root.has_value() && mistakes.empty()) std::abort();
  // A text within the innermost list is one level more.
  if (root.has_value() && Depth(*root) > clusterd::kMaxYamlDepth + 1) {
    std::abort();
  }
  return 0;
}
