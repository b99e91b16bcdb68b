#include "config/plan/address_blocks.h"

#include <gtest/gtest.h>

#include <string>

namespace clusterd {
namespace {

std::vector<std::string> Cover(const std::vector<std::string>& texts) {
  std::vector<Ipv4Address> addresses;
  for (const std::string& text : texts) {
    addresses.push_back(*Ipv4Address::Parse(text));
  }
  std::vector<std::string> blocks;
  for (const Ipv4Subnet& block : CoverExactly(addresses)) {
    blocks.push_back(block.ToString());
  }
  return blocks;
}

TEST(CoverExactlyTest, JoinsAlignedNeighboursOnly) {
  EXPECT_EQ(Cover({"10.0.0.1", "10.0.0.2", "10.0.0.3"}),
            (std::vector<std::string>{"10.0.0.1/32", "10.0.0.2/31"}));
  EXPECT_EQ(Cover({"10.0.0.4", "10.0.0.7", "10.0.0.5", "10.0.0.6"}),
            (std::vector<std::string>{"10.0.0.4/30"}));
}

TEST(CoverExactlyTest, CountsARepeatedAddressOnce) {
  EXPECT_EQ(Cover({"10.0.0.4", "10.0.0.4"}),
            (std::vector<std::string>{"10.0.0.4/32"}));
  EXPECT_TRUE(Cover({}).empty());
}

TEST(CoverExactlyTest, HoldsEveryAddressAndNoOther) {
  std::vector<Ipv4Address> addresses;
  for (uint32_t i = 0; i < 1152; ++i) {
    addresses.push_back(Ipv4Address(0x0a000003 + i + i / 100));
  }
  uint64_t covered = 0;
  const std::vector<Ipv4Subnet> blocks = CoverExactly(addresses);
  for (const Ipv4Subnet& block : blocks) {
    covered += uint64_t{1} << (32 - block.prefix_length());
  }
  EXPECT_EQ(covered, addresses.size());
  EXPECT_LT(blocks.size(), 150u);
  for (const Ipv4Address address : addresses) {
    int holders = 0;
    for (const Ipv4Subnet& block : blocks) {
      holders += block.Contains(address) ? 1 : 0;
    }
    EXPECT_EQ(holders, 1);
  }
}

TEST(CoverExactlyTest, ReachesTheLastAddressOfAll) {
  EXPECT_EQ(Cover({"255.255.255.254", "255.255.255.255"}),
            (std::vector<std::string>{"255.255.255.254/31"}));
}

}  // namespace
}  // namespace clusterd
