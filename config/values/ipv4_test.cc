#include "config/values/ipv4.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

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
        "10.20.0.1/24", "1000.0.0.1", "0x0a.0.0.1"}) {
    const auto parsed = Ipv4Address::Parse(text);
    ASSERT_FALSE(parsed.ok()) << text;
    EXPECT_THAT(std::string(parsed.status().message()), HasSubstr(text));
  }
}

TEST(Ipv4AddressTest, KnowsTheRangesNoNetworkRoutes) {
  EXPECT_TRUE(Ipv4Address::Parse("127.10.0.0")->IsLoopback());
  EXPECT_TRUE(Ipv4Address::Parse("224.0.0.1")->IsMulticast());
  EXPECT_TRUE(Ipv4Address::Parse("239.255.255.255")->IsMulticast());
  EXPECT_TRUE(Ipv4Address::Parse("240.0.0.1")->IsClassE());
  EXPECT_FALSE(Ipv4Address::Parse("223.255.255.255")->IsMulticast());
}

TEST(Ipv4SubnetTest, ComputesItsEdges) {
  const Ipv4Subnet subnet = *Ipv4Subnet::Parse("192.168.100.0/22");
  EXPECT_EQ(subnet.netmask().ToString(), "255.255.252.0");
  EXPECT_EQ(subnet.broadcast().ToString(), "192.168.103.255");
  EXPECT_TRUE(subnet.Contains(*Ipv4Address::Parse("192.168.103.1")));
  EXPECT_FALSE(subnet.Contains(*Ipv4Address::Parse("192.168.104.0")));
  EXPECT_EQ(Ipv4Subnet::Parse("0.0.0.0/0")->broadcast().ToString(),
            "255.255.255.255");
  EXPECT_EQ(Ipv4Subnet::Parse("10.0.0.1/32")->broadcast().ToString(),
            "10.0.0.1");
}

TEST(Ipv4SubnetTest, OverlapsWhenOneHoldsTheOther) {
  const Ipv4Subnet wide = *Ipv4Subnet::Parse("192.0.0.0/8");
  const Ipv4Subnet narrow = *Ipv4Subnet::Parse("192.168.1.0/24");
  EXPECT_TRUE(wide.Overlaps(narrow));
  EXPECT_TRUE(narrow.Overlaps(wide));
  EXPECT_FALSE(narrow.Overlaps(*Ipv4Subnet::Parse("192.168.2.0/24")));
}

TEST(Ipv4SubnetTest, RefusesHostBitsAndSuggestsTheNetwork) {
  const auto parsed = Ipv4Subnet::Parse("192.168.100.5/24");
  ASSERT_FALSE(parsed.ok());
  EXPECT_THAT(std::string(parsed.status().message()),
              HasSubstr("expected 192.168.100.0/24"));
}

TEST(Ipv4SubnetTest, RefusesAMalformedPrefixLength) {
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

}  // namespace
}  // namespace clusterd
