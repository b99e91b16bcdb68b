// Whatever parses has an address, and reads the same when it is printed again.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "daemon/host/hccn_ip.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  const absl::StatusOr<std::vector<clusterd::Ipv4Interface>> interfaces =
      clusterd::ParseHccnIp(text);
  if (!interfaces.ok()) return 0;
  if (interfaces->empty()) std::abort();
  std::string again;
  for (const clusterd::Ipv4Interface& interface : *interfaces) {
    again += "ipaddr:" + interface.address().ToString() +
             "\nnetmask:" + interface.subnet().netmask().ToString() + "\n";
  }
  if (*clusterd::ParseHccnIp(again) != *interfaces) std::abort();
  return 0;
}
