// A configuration is read or refused with a reason.
#include "daemon/agent/agent_flags.h"
#include "tests/fuzz/require.h"
#include "tests/fuzz/text_input.h"

void clusterd::FuzzText(const std::string& text) {
  const auto config = ParseAgentConfig("agent.yaml", text);
  Require(config.ok() || !config.status().message().empty());
}
