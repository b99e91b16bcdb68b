// Text that does not name "firewall" never allows it.
#include "config/spec/yaml_document.h"
#include "config/values/change_kind.h"
#include "daemon/agent/apply/veto.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/fuzz/require.h"

namespace clusterd {
namespace {

FUZZ_TEXT(veto, 1, "tests/testdata/agent/*.yaml") {
  Mistakes mistakes("agent.yaml");
  const auto root = ParseYaml(text, YamlLimits(), &mistakes);
  if (!root) return;
  const YamlMap map(&*root, "", {"allow"}, &mistakes);
  const auto allows = ReadAllows(map, &mistakes);
  Require(!mistakes.empty() ||
          AllowedKinds(allows).count(CHANGE_FIREWALL) == 0 ||
          text.find("firewall") != std::string::npos ||
          text.find('\\') != std::string::npos);
}

}  // namespace
}  // namespace clusterd
