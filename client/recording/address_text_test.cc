#include <gmock/gmock.h>

#include "client/recording/recording.h"

namespace clusterd {
namespace {

using ::testing::HasSubstr, ::testing::MatchesRegex, ::testing::Not,
    ::testing::StartsWith;

std::string Hidden(const std::string& text) {
  return ReplaceAddresses(text, AddressMap("k"));
}

std::string Ipv4(const std::string& address) {
  return AddressMap("k")
      .Replace(Ipv4Address::Parse(address).value())
      .ToString();
}

TEST(ReplaceAddressesTest, FindsIpv4WhereverTheToolWritesIt) {
  EXPECT_EQ(Hidden("ipaddr:29.1.112.213\nnetmask:255.255.0.0\n"),
            "ipaddr:" + Ipv4("29.1.112.213") + "\nnetmask:255.255.0.0\n");
  EXPECT_EQ(Hidden("default gateway:11.12.165.1, Iface:eth0\n"),
            "default gateway:" + Ipv4("11.12.165.1") + ", Iface:eth0\n");
  EXPECT_EQ(Hidden("device 3 PING 29.1.137.205"),
            "device 3 PING " + Ipv4("29.1.137.205"));
  EXPECT_EQ(
      Hidden("route_address_10.0.0.0_netmask_255.0.0.0_0=gateway_10.2.0.1"),
      "route_address_" + Ipv4("10.0.0.0") + "_netmask_255.0.0.0_0=gateway_" +
          Ipv4("10.2.0.1"));
}

TEST(ReplaceAddressesTest, FindsIpv4NextToPortsMasksAndLetters) {
  EXPECT_EQ(Hidden("10.1.2.3:4791 "), Ipv4("10.1.2.3") + ":4791 ");
  EXPECT_EQ(Hidden("10.1.2.3/24 "), Ipv4("10.1.2.3") + "/24 ");
  EXPECT_EQ(Hidden("10.1.2.3.4791 "), Ipv4("10.1.2.3") + ".4791 ");
  EXPECT_EQ(Hidden("v10.1.2.3. "), "v" + Ipv4("10.1.2.3") + ". ");
  EXPECT_EQ(Hidden("010.001.002.003 "), Ipv4("10.1.2.3") + " ");
}

TEST(ReplaceAddressesTest, LeavesNumbersThatAreNoAddress) {
  for (const char* text :
       {"Version=7.1.0.11.220 \n", "time=1.418000ms\n", "0.00% packet loss",
        "300.1.2.3 \n", "Wed Aug  2 03:09:26 2022\n", "400GE1/1/20:2\n",
        "Speed: 200000 Mb/s\n", "ip.0=\n", "1111111111111\n"}) {
    EXPECT_EQ(Hidden(text), text);
  }
}

TEST(ReplaceAddressesTest, FindsMacInEveryForm) {
  const std::string colons = Hidden("mac addr: 6c:b1:58:00:00:01\n");
  EXPECT_THAT(colons, MatchesRegex("mac addr: 6c:b1:58:[0-9a-f:]{8}\n"));
  EXPECT_THAT(colons, Not(HasSubstr("58:00:00:01")));
  const std::string nic = colons.substr(colons.size() - 9, 8);
  const std::string bare =
      nic.substr(0, 2) + nic.substr(3, 2) + nic.substr(6, 2);
  EXPECT_EQ(Hidden("6cb158000001 "), "6cb158" + bare + " ");
  EXPECT_EQ(Hidden("6cb1-5800-0001 "),
            "6cb1-58" + bare.substr(0, 2) + "-" + bare.substr(2) + " ");
  EXPECT_THAT(Hidden("6C-B1-58-00-00-0A"),
              MatchesRegex("6C-B1-58-[0-9A-F]{2}-[0-9A-F]{2}-[0-9A-F]{2}"));
}

TEST(ReplaceAddressesTest, FindsIpv6WithAndWithoutIpv4InIt) {
  EXPECT_THAT(Hidden("ipv6_address:fd00::1\n"),
              StartsWith("ipv6_address:fd00::"));
  EXPECT_THAT(Hidden("ipv6_address:fd00::1\n"), Not(HasSubstr("::1\n")));
  EXPECT_EQ(Hidden("[::ffff:10.1.2.3]:43195"),
            "[::ffff:" + Ipv4("10.1.2.3") + "]:43195");
  EXPECT_EQ(Hidden("::1 "), "::1 ");
  EXPECT_THAT(Hidden("fe80::6eb1:58ff:fe00:1%eth0"),
              MatchesRegex("fe80::[0-9a-f:]*%eth0"));
}

TEST(ReplaceAddressesTest, DropsAnAddressTruncatedAtTheEnd) {
  EXPECT_THAT(Hidden("\tIPv4: 29.1.137"), Not(HasSubstr("29.1.137")));
  EXPECT_THAT(Hidden("\tIPv4: 29.1.1"),
              MatchesRegex("\tIPv4: [0-9]+\\.[0-9]+\\.0"));
  EXPECT_EQ(Hidden("\tMAC: 6c:b1:58:00:0"), "\tMAC: 6c:b1:58");
}

TEST(ReplaceAddressesTest, StaysLinearOnLongRuns) {
  const std::string digits(1 << 20, '1');
  EXPECT_EQ(Hidden(digits + "\n"), digits + "\n");
  const std::string colons(1 << 18, ':');
  EXPECT_EQ(Hidden(colons + "\n"), colons + "\n");
  std::string dots;
  for (int i = 0; i < 1 << 16; ++i) dots += "1.";
  EXPECT_EQ(Hidden(dots + "\n"), dots + "\n");
}

}  // namespace
}  // namespace clusterd
