// Every address that parses is written back as the same text.
#include <cstdint>
#include <cstdlib>
#include <string>

#include "config/values/ipv4.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  const auto address = clusterd::Ipv4Address::Parse(text);
  if (address.ok() && address->ToString() != text) std::abort();
  const auto prefix_length = clusterd::ParseNetmask(text);
  if (prefix_length.ok() &&
      clusterd::Ipv4Subnet({}, *prefix_length).netmask().ToString() != text) {
    std::abort();
  }
  const auto subnet = clusterd::Ipv4Subnet::Parse(text);
  if (!subnet.ok()) return 0;
  const auto again = clusterd::Ipv4Subnet::Parse(subnet->ToString());
  if (!again.ok() || !(*again == *subnet)) std::abort();
  return 0;
}
