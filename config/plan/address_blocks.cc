#include "config/plan/address_blocks.h"

#include <algorithm>
#include <cstdint>

namespace clusterd {

std::vector<Ipv4Subnet> CoverExactly(std::vector<Ipv4Address> addresses) {
  std::sort(addresses.begin(), addresses.end());
  addresses.erase(std::unique(addresses.begin(), addresses.end()),
                  addresses.end());
  std::vector<Ipv4Subnet> blocks;
  for (size_t i = 0; i < addresses.size();) {
    // The largest aligned block from here on of which every address is there.
    const uint32_t first = addresses[i].bits();
    int prefix = 32;
    uint64_t size = 1;
    while (prefix > 0) {
      const uint64_t doubled = size * 2;
      if (first % doubled != 0 || i + doubled > addresses.size()) break;
      const uint64_t last = first + doubled - 1;
      if (addresses[i + doubled - 1].bits() != last) break;
      size = doubled;
      --prefix;
    }
    blocks.push_back(Ipv4Subnet(addresses[i], prefix));
    i += size;
  }
  return blocks;
}

}  // namespace clusterd
