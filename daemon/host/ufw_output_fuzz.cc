// Allowed ports are ports, and nothing is allowed by a text without "ALLOW" or
// a default that allows.
#include <cstdint>
#include <cstdlib>
#include <string>

#include "daemon/host/ufw_output.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  clusterd::ParseUfwActive(text).status().IgnoreError();
  clusterd::ParseUfwConf(text).status().IgnoreError();
  const absl::StatusOr<clusterd::AllowedFact::Allowed> allowed =
      clusterd::ParseUfwAllowed(text);
  if (!allowed.ok()) return 0;
  for (const clusterd::AllowedPort& port : allowed->ports()) {
    if (port.first_port() > port.last_port() || port.last_port() > 65535) {
      std::abort();
    }
  }
  const bool may_allow = text.find("ALLOW") != std::string::npos ||
                         text.find("allow (incoming)") != std::string::npos;
  if (allowed->ports_size() > 0 && !may_allow) std::abort();
  return 0;
}
