// Every address that parses is written back as the same text.
#include "config/values/ipv4.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/fuzz/require.h"

namespace clusterd {
namespace {

FUZZ_TEXT(ipv4, 1, "tests/testdata/spec/address/*.txt") {
  const auto address = Ipv4Address::Parse(text);
  Require(!address.ok() || address->ToString() == text);
  const auto length = ParseNetmask(text);
  Require(!length.ok() || Ipv4Subnet({}, *length).netmask().ToString() == text);
  const auto subnet = Ipv4Subnet::Parse(text);
  if (!subnet.ok()) return;
  const auto again = Ipv4Subnet::Parse(subnet->ToString());
  Require(again.ok() && *again == *subnet);
}

}  // namespace
}  // namespace clusterd
