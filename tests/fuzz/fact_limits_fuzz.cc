// Any bytes that a host may send: parsed as a message, they are refused, or
// bounded and cleaned.
#include <cstdint>
#include <cstdlib>
#include <string>

#include "absl/strings/ascii.h"
#include "daemon/controller/hosts/fact_limits.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  clusterd::AgentMessage message;
  if (size > clusterd::kMaxHostMessageBytes ||
      !message.ParseFromArray(data, static_cast<int>(size))) {
    return 0;
  }
  clusterd::CheckHello(message.hello()).IgnoreError();
  clusterd::HostFacts facts = message.result().facts();
  if (!clusterd::CleanFacts("server0", &facts).ok()) return 0;
  if (facts.host() != "server0" || !facts.conflict().empty()) std::abort();
  for (const char c : facts.missing().detail()) {
    if (absl::ascii_iscntrl(static_cast<unsigned char>(c)) && c != '\n' &&
        c != '\t') {
      std::abort();
    }
  }
  return 0;
}
