// Whatever is allowed is a range of ports.
#include <cstdint>
#include <cstdlib>
#include <string>

#include "daemon/host/firewalld_output.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  clusterd::ParseFirewalldService(text).status().IgnoreError();
  const absl::StatusOr<std::vector<clusterd::FirewalldZone>> zones =
      clusterd::ParseFirewalldZones(text);
  if (!zones.ok()) return 0;
  for (const clusterd::FirewalldZone& zone : *zones) {
    const absl::StatusOr<clusterd::AllowedFact::Allowed> allowed =
        clusterd::FirewalldAllowed(*zones, zone, {{"ssh", {}}});
    if (!allowed.ok()) continue;
    for (const clusterd::AllowedPort& port : allowed->ports()) {
      if (port.first_port() > port.last_port() || port.last_port() > 65535) {
        std::abort();
      }
    }
  }
  return 0;
}
