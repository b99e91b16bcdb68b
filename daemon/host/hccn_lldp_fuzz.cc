// Whatever is heard has a port, and every value is short and printable.
#include <cstdint>
#include <cstdlib>
#include <string>

#include "daemon/host/hccn_lldp.h"

namespace {

void CheckValue(const std::string& value) {
  if (value.size() > 4 * 255 + 3) std::abort();
  for (const unsigned char c : value) {
    if (c < 0x20 || c > 0x7e) std::abort();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  const absl::StatusOr<clusterd::LldpNeighbour> neighbour =
      clusterd::ParseHccnLldp(text);
  if (!neighbour.ok()) return 0;
  if (neighbour->heard() == neighbour->port_id().empty()) std::abort();
  CheckValue(neighbour->chassis_id());
  CheckValue(neighbour->port_id());
  CheckValue(neighbour->system_name());
  CheckValue(neighbour->management_address());
  return 0;
}
