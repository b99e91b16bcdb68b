// Patterns that parse give addresses, or messages, for any server and device.
#include "config/values/address_pattern.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/fuzz/require.h"

namespace clusterd {
namespace {

FUZZ_TEXT(address_pattern, 1, "tests/testdata/spec/pattern/*.txt") {
  FormulaInputs inputs;
  inputs.n = 100000;
  inputs.d = 15;
  inputs.servers = 131072;
  const auto addresses = AddressPattern::Parse(text);
  if (addresses.ok()) (void)addresses->At(addresses->size() - 1, inputs);
  const auto subnets = AddressPattern::ParseSubnets(text);
  if (!subnets.ok()) return;
  const auto network = subnets->At(subnets->size() - 1, inputs);
  if (!network.ok()) return;
  const Ipv4Subnet subnet(*network, subnets->prefix_length());
  Require(subnet.network() == *network);
  const auto host = HostAddress(subnet, 1);
  Require(host.ok() && subnet.Contains(*host));
}

}  // namespace
}  // namespace clusterd
