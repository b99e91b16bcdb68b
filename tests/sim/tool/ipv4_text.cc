#include "tests/sim/tool/ipv4_text.h"

#include <arpa/inet.h>

namespace clusterd {
namespace sim {

std::optional<uint32_t> StrictIpv4(const std::string& text) {
  in_addr address;
  if (inet_pton(AF_INET, text.c_str(), &address) != 1) return std::nullopt;
  return ntohl(address.s_addr);
}

uint32_t LooseIpv4(const std::string& text) {
  return ntohl(inet_addr(text.c_str()));
}

bool IsContiguousMask(uint32_t mask) {
  const uint32_t rest = ~mask;
  return (rest & (rest + 1)) == 0;
}

}  // namespace sim
}  // namespace clusterd
