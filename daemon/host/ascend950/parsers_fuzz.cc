#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "absl/strings/match.h"
#include "daemon/host/ascend950/answers.h"
#include "daemon/host/ascend950/device_info.h"

// Never a crash, never a value that is not in the text.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string text(reinterpret_cast<const char*>(data), size);
  // The lines of a golden input that say where it is from.
  while (absl::StartsWith(text, "#") && absl::StrContains(text, "\n")) {
    text.erase(0, text.find('\n') + 1);
  }
  const absl::StatusOr<clusterd::ascend950::DeviceInfo> info =
      clusterd::ascend950::ParseDeviceInfo(text);
  if (info.ok()) {
    for (const clusterd::ascend950::Port& port : info->ports) {
      if (!absl::StrContains(text, port.type)) std::abort();
    }
    for (const std::string& bond : info->bonds) {
      if (!absl::StrContains(text, bond)) std::abort();
    }
  }
  const absl::StatusOr<bool> tls = clusterd::ascend950::ParseTls(text, 0);
  if (tls.ok() &&
      !absl::StrContains(text, *tls ? "tls switch[1]" : "tls switch[0]")) {
    std::abort();
  }
  const absl::StatusOr<clusterd::LldpNeighbour> neighbour =
      clusterd::ascend950::ParseLldp(text);
  if (neighbour.ok() && neighbour->heard() && neighbour->port_id().empty()) {
    std::abort();
  }
  return 0;
}
