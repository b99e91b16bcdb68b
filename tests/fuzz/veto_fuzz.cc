#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "config/spec/yaml_document.h"
#include "config/values/change_kind.h"
#include "daemon/agent/apply/veto.h"

// Text that does not name "firewall" never allows it.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  clusterd::Mistakes mistakes("agent.yaml");
  const auto root =
      clusterd::ParseYaml(text, clusterd::YamlLimits(), &mistakes);
  if (!root) return 0;
  const clusterd::YamlMap map(&*root, "", {"allow"}, &mistakes);
  const auto allows = clusterd::ReadAllows(map, &mistakes);
  if (mistakes.empty() &&
      clusterd::AllowedKinds(allows).count(clusterd::CHANGE_FIREWALL) > 0 &&
      text.find("firewall") == std::string::npos &&
      text.find('\\') == std::string::npos) {
    std::abort();
  }
  return 0;
}
