#include "config/values/ipv4.h"

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"

namespace clusterd {
namespace {

using ::testing::HasSubstr;

TEST(Ipv4AddressTest, ReadsADottedQuad) {
  ASSERT_TRUE(Ipv4Address::Parse("10.20.0.17").ok());
  EXPECT_EQ(Ipv4Address::Parse("10.20.0.17")->bits(), 0x0a140011u);
  EXPECT_EQ(Ipv4Address::Parse("255.255.255.255")->ToString(),
            "255.255.255.255");
  EXPECT_TRUE(Ipv4Address::Parse("0.0.0.0")->IsUnset());
}

TEST(Ipv4AddressTest, RefusesEverythingElseAndQuotesIt) {
  for (const char* text :
       {"", "10.20.0", "10.20.0.", "10.20.0.300", "10.20.0.1.2", "10.20.0.01",
        " 10.20.0.1", "10.20.0.1 ", "a.b.c.d", "10..0.1", "-1.0.0.1",
        "10.20.0.1/24", "1000.0.0.1", "0x0a.0.0.1", "4294967306.20.0.1",
        "00.0.0.1", "10.20.0.256", "10,20,0,1"}) {
    const auto parsed = Ipv4Address::Parse(text);
    ASSERT_FALSE(parsed.ok()) << text;
    EXPECT_THAT(std::string(parsed.status().message()), HasSubstr(text));
  }
  EXPECT_THAT(std::string(Ipv4Address::Parse("\xb1.0.0.1").status().message()),
              HasSubstr("\\261.0.0.1"));
  // Writes every octet as it read it.
  for (uint32_t octet = 0; octet < 256; ++octet) {
    const std::string text = absl::StrCat(octet, ".7.", 255 - octet, ".10");
    const auto parsed = Ipv4Address::Parse(text);
    ASSERT_TRUE(parsed.ok()) << text;
    EXPECT_EQ(parsed->bits(), octet << 24 | 7 << 16 | (255 - octet) << 8 | 10);
    EXPECT_EQ(parsed->ToString(), text);
  }
  // Knows the ranges no network routes.
  EXPECT_TRUE(Ipv4Address::Parse("127.10.0.0")->IsLoopback());
  EXPECT_TRUE(Ipv4Address::Parse("224.0.0.1")->IsMulticast());
  EXPECT_TRUE(Ipv4Address::Parse("239.255.255.255")->IsMulticast());
  EXPECT_TRUE(Ipv4Address::Parse("240.0.0.1")->IsClassE());
  EXPECT_FALSE(Ipv4Address::Parse("223.255.255.255")->IsMulticast());
}

TEST(Ipv4SubnetTest, ComputesItsEdgesAndOverlapsWhenOneHoldsTheOther) {
  const Ipv4Subnet subnet = *Ipv4Subnet::Parse("192.168.100.0/22");
  EXPECT_EQ(subnet.netmask().ToString(), "255.255.252.0");
  EXPECT_EQ(subnet.broadcast().ToString(), "192.168.103.255");
  EXPECT_TRUE(subnet.Contains(*Ipv4Address::Parse("192.168.103.1")));
  EXPECT_FALSE(subnet.Contains(*Ipv4Address::Parse("192.168.104.0")));
  EXPECT_EQ(Ipv4Subnet::Parse("0.0.0.0/0")->broadcast().ToString(),
            "255.255.255.255");
  EXPECT_EQ(Ipv4Subnet::Parse("10.0.0.1/32")->broadcast().ToString(),
            "10.0.0.1");
  const Ipv4Subnet wide = *Ipv4Subnet::Parse("192.0.0.0/8");
  const Ipv4Subnet narrow = *Ipv4Subnet::Parse("192.168.1.0/24");
  EXPECT_TRUE(wide.Overlaps(narrow));
  EXPECT_TRUE(narrow.Overlaps(wide));
  EXPECT_FALSE(narrow.Overlaps(*Ipv4Subnet::Parse("192.168.2.0/24")));
  // Refuses host bits and suggests the network.
  const auto parsed = Ipv4Subnet::Parse("192.168.100.5/24");
  ASSERT_FALSE(parsed.ok());
  EXPECT_THAT(std::string(parsed.status().message()),
              HasSubstr("expected 192.168.100.0/24"));
  // Refuses a malformed prefix length.
  for (const char* text : {"10.0.0.0", "10.0.0.0/", "10.0.0.0/33",
                           "10.0.0.0/-1", "10.0.0.0/024", "10.0.0.0/2 "}) {
    EXPECT_FALSE(Ipv4Subnet::Parse(text).ok()) << text;
  }
}

TEST(ParseNetmaskTest, RejectsMaskWithHole) {
  EXPECT_EQ(*ParseNetmask("255.255.255.0"), 24);
  EXPECT_EQ(*ParseNetmask("0.0.0.0"), 0);
  EXPECT_EQ(*ParseNetmask("255.255.255.255"), 32);
  const auto hole = ParseNetmask("255.0.255.0");
  ASSERT_FALSE(hole.ok());
  EXPECT_THAT(std::string(hole.status().message()), HasSubstr("hole"));
}

TEST(Ipv4InterfaceTest, TellsItsSubnet) {
  const Ipv4Interface interface =
      *Ipv4Interface::Parse("10.20.3.17", "255.255.0.0");
  EXPECT_EQ(interface.ToString(), "10.20.3.17/16");
  EXPECT_EQ(interface.subnet().ToString(), "10.20.0.0/16");
}

using Texts = std::vector<std::string>;

Texts Cover(const Texts& texts) {
  std::vector<Ipv4Address> addresses;
  for (const std::string& text : texts) {
    addresses.push_back(*Ipv4Address::Parse(text));
  }
  Texts blocks;
  for (const Ipv4Subnet& block : CoverExactly(addresses)) {
    blocks.push_back(block.ToString());
  }
  return blocks;
}

TEST(CoverExactlyTest, JoinsAlignedNeighboursOnly) {
  EXPECT_EQ(Cover({"10.0.0.1", "10.0.0.2", "10.0.0.3"}),
            (Texts{"10.0.0.1/32", "10.0.0.2/31"}));
  EXPECT_EQ(Cover({"10.0.0.4", "10.0.0.7", "10.0.0.5", "10.0.0.6"}),
            (Texts{"10.0.0.4/30"}));
  // Counts a repeated address once.
  EXPECT_EQ(Cover({"10.0.0.4", "10.0.0.4"}), (Texts{"10.0.0.4/32"}));
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
  // Reaches the last address of all.
  EXPECT_EQ(Cover({"255.255.255.254", "255.255.255.255"}),
            (Texts{"255.255.255.254/31"}));
}

}  // namespace
}  // namespace clusterd
