// A configuration is read or refused with a reason.
#include <cstdint>
#include <cstdlib>
#include <string>

#include "daemon/agent/agent_flags.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  const auto config = clusterd::ParseAgentConfig("agent.yaml", text);
  if (!config.ok() && config.status().message().empty()) std::abort();
  return 0;
}
