// Readers of the Ascend 950 tool: never a crash, never a value that is not in
// the text.
#include <cstdint>
#include <string>

#include "daemon/host/ascend950/dialect.h"
#include "tests/fuzz/require.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using clusterd::Require;
  using clusterd::RequireIn;
  const std::string text = clusterd::WithoutOrigin(
      std::string(reinterpret_cast<const char*>(data), size));
  const auto info = clusterd::ascend950::ParseDeviceInfo(text);
  if (info.ok()) {
    for (const clusterd::ascend950::Port& port : info->ports) {
      RequireIn(text, port.type);
    }
    for (const std::string& bond : info->bonds) RequireIn(text, bond);
  }
  const auto tls = clusterd::ascend950::ParseTls(text, 0);
  if (tls.ok()) RequireIn(text, *tls ? "tls switch[1]" : "tls switch[0]");
  const auto neighbour = clusterd::ascend950::ParseLldp(text);
  if (neighbour.ok() && neighbour->heard()) {
    Require(!neighbour->port_id().empty());
  }
  return 0;
}
