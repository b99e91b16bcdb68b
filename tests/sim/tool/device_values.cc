#include "tests/sim/tool/device_values.h"

#include <arpa/inet.h>
#include <stdlib.h>

#include <algorithm>
#include <cctype>

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

bool IsDigits(const std::string& text) {
  return std::all_of(text.begin(), text.end(),
                     [](unsigned char c) { return std::isdigit(c); });
}

bool IsMtu(const std::string& text) {
  if (!IsDigits(text) || text.size() > 5) return false;
  const int size = atoi(text.c_str());
  return size >= kMinMtu && size <= kMaxMtu;
}

bool IsMacAddress(const std::string& text) {
  if (text.size() != kMacAddressChars) return false;
  for (size_t i = 0; i < kMacAddressChars; ++i) {
    const unsigned char c = text[i];
    if (i % 3 == 2 ? c != ':' : !std::isxdigit(c)) return false;
  }
  const long first = strtol(text.substr(0, 2).c_str(), nullptr, 16);
  constexpr long kGroupBit = 1;
  return (first & kGroupBit) == 0 && text != "00:00:00:00:00:00";
}

bool IsPfcBitmap(const std::string& text) {
  constexpr size_t kChars = 15;
  if (text.size() != kChars) return false;
  for (size_t i = 0; i < kChars; ++i) {
    if (i % 2 == 1 ? text[i] != ',' : (text[i] != '0' && text[i] != '1')) {
      return false;
    }
  }
  return true;
}

}  // namespace sim
}  // namespace clusterd
