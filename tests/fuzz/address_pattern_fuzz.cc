// Patterns that parse give addresses, or messages, for any server and device.
#include <cstdint>
#include <cstdlib>
#include <string>

#include "config/values/address_pattern.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  clusterd::FormulaInputs inputs;
  inputs.n = 100000;
  inputs.d = 15;
  inputs.servers = 131072;
  const auto addresses = clusterd::AddressPattern::Parse(text);
  if (addresses.ok()) {
    (void)addresses->At(addresses->size() - 1, inputs);
  }
  const auto subnets = clusterd::AddressPattern::ParseSubnets(text);
  if (!subnets.ok()) return 0;
  const auto network = subnets->At(subnets->size() - 1, inputs);
  if (!network.ok()) return 0;
  const clusterd::Ipv4Subnet subnet(*network, subnets->prefix_length());
  if (subnet.network() != *network) std::abort();
  const auto host = clusterd::HostAddress(subnet, 1);
  if (!host.ok() || !subnet.Contains(*host)) std::abort();
  return 0;
}
