// Readers of the Ascend 950 tool: never a crash, never a value that is not in
// the text.
#include "daemon/host/ascend950/dialect.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/fuzz/require.h"

namespace clusterd {
namespace {

FUZZ_TEXT(ascend950, 1, "tests/testdata/ascend950/*.txt") {
  const std::string answer = WithoutOrigin(text);
  const auto info = ascend950::ParseDeviceInfo(answer);
  if (info.ok()) {
    for (const ascend950::Port& port : info->ports)
      RequireIn(answer, port.type);
    for (const std::string& bond : info->bonds) RequireIn(answer, bond);
  }
  const auto tls = ascend950::ParseTls(answer, 0);
  if (tls.ok()) RequireIn(answer, *tls ? "tls switch[1]" : "tls switch[0]");
  const auto neighbour = ascend950::ParseLldp(answer);
  if (neighbour.ok() && neighbour->heard()) {
    Require(!neighbour->port_id().empty());
  }
}

}  // namespace
}  // namespace clusterd
