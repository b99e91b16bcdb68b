// Readers of the Ascend 950 tool: never a crash, never a value that is not in
// the text.
#include "daemon/host/ascend950/dialect.h"
#include "tests/fuzz/require.h"
#include "tests/fuzz/text_input.h"

void clusterd::FuzzText(const std::string& input) {
  const std::string text = WithoutOrigin(input);
  const auto info = ascend950::ParseDeviceInfo(text);
  if (info.ok()) {
    for (const ascend950::Port& port : info->ports) RequireIn(text, port.type);
    for (const std::string& bond : info->bonds) RequireIn(text, bond);
  }
  const auto tls = ascend950::ParseTls(text, 0);
  if (tls.ok()) RequireIn(text, *tls ? "tls switch[1]" : "tls switch[0]");
  const auto neighbour = ascend950::ParseLldp(text);
  if (neighbour.ok() && neighbour->heard()) {
    Require(!neighbour->port_id().empty());
  }
}
