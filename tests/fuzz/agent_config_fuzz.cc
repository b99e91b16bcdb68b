// A configuration is read or refused with a reason.
#include "daemon/agent/agent_flags.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/fuzz/require.h"

namespace clusterd {
namespace {

FUZZ_TEXT(agent_config, 1, "tests/testdata/agent/*.yaml") {
  const auto config = ParseAgentConfig("agent.yaml", text);
  Require(config.ok() || !config.status().message().empty());
}

}  // namespace
}  // namespace clusterd
