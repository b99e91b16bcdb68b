// Whatever is read is an address that stands in the text.
#include <cstdint>
#include <cstdlib>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "daemon/host/hccn_query/hccn_addresses.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  const auto vnic = clusterd::ParseHccnVnic(text);
  if (vnic.ok()) {
    for (const std::string& address :
         {vnic->address.address().ToString(),
          vnic->address.subnet().netmask().ToString()}) {
      if (!absl::StrContains(text, address)) std::abort();
    }
    if (!absl::StrContains(text, vnic->link_up ? "UP" : "DOWN")) std::abort();
  }
  const auto ipv6 = clusterd::ParseHccnIpv6(text);
  if (ipv6.ok()) {
    if (!absl::StrContains(text, ipv6->address)) std::abort();
    if (!absl::StrContains(text, absl::StrCat(ipv6->prefix_length))) {
      std::abort();
    }
    if (ipv6->prefix_length > 128) std::abort();
  }
  return 0;
}
