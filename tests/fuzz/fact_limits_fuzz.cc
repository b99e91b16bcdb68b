// Any bytes that a host may send: parsed as a message, they are refused, or
// bounded and cleaned.
#include "absl/strings/ascii.h"
#include "daemon/controller/hosts/fact_limits.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/fuzz/require.h"

namespace clusterd {
namespace {

FUZZ_BYTES(fact_limits, 1, "tests/testdata/agent/*.facts") {
  AgentMessage message;
  if (bytes.size() > kMaxHostMessageBytes ||
      !message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return;
  }
  CheckHello(message.hello()).IgnoreError();
  HostFacts facts = message.result().facts();
  if (!CleanFacts("server0", &facts).ok()) return;
  Require(facts.host() == "server0" && facts.conflict().empty());
  for (const char c : facts.missing().detail()) {
    Require(!absl::ascii_iscntrl(static_cast<unsigned char>(c)) || c == '\n' ||
            c == '\t');
  }
}

}  // namespace
}  // namespace clusterd
