#include "daemon/host/hccn_query/hccn_addresses.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace clusterd {
namespace {

using ::testing::HasSubstr;

template <typename T>
void ExpectRejected(const absl::StatusOr<T>& parsed, const std::string& said) {
  EXPECT_EQ(parsed.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(parsed.status().message()), HasSubstr(said));
}

TEST(ParseHccnVnicTest, ReadsLinkAddressAndMask) {
  const auto vnic = ParseHccnVnic(
      "vnic link status: UP\nvnic ipaddr: 192.0.2.199\n"
      "vnic netmask: 255.0.0.0\n");
  ASSERT_TRUE(vnic.ok()) << vnic.status();
  EXPECT_TRUE(vnic->link_up);
  EXPECT_EQ(vnic->address.ToString(), "192.0.2.199/8");
}

TEST(ParseHccnVnicTest, ReadsALinkThatIsDown) {
  const auto vnic = ParseHccnVnic(
      "vnic link status: DOWN\nvnic ipaddr: 192.168.2.199\n"
      "vnic netmask: 255.255.255.0\n");
  ASSERT_TRUE(vnic.ok()) << vnic.status();
  EXPECT_FALSE(vnic->link_up);
}

TEST(ParseHccnVnicTest, RejectsAMissingOrMalformedLine) {
  ExpectRejected(ParseHccnVnic("vnic link status: UP\n"),
                 "no line \"vnic ipaddr: ...\"");
  ExpectRejected(
      ParseHccnVnic("vnic link status: UPP\nvnic ipaddr: 192.168.2.199\n"
                    "vnic netmask: 255.255.255.0\n"),
      "\"UPP\"");
  ExpectRejected(
      ParseHccnVnic("vnic link status: UP\nvnic ipaddr: 192.168.2.199\n"
                    "vnic netmask: 255.0.255.0\n"),
      "\"192.168.2.199 255.0.255.0\"");
  ExpectRejected(ParseHccnVnic("link status: UP\n"), "link status: UP");
}

TEST(ParseHccnIpv6Test, ReadsAddressAndPrefixLength) {
  const auto ipv6 = ParseHccnIpv6("ipv6_address:fd00::1\nprefix_length:64\n");
  ASSERT_TRUE(ipv6.ok()) << ipv6.status();
  EXPECT_EQ(ipv6->address, "fd00::1");
  EXPECT_EQ(ipv6->prefix_length, 64u);
}

TEST(ParseHccnIpv6Test, RejectsOtherAddressesAndLengths) {
  ExpectRejected(ParseHccnIpv6("ipv6_address:fd00:::1\nprefix_length:64\n"),
                 "\"fd00:::1\", expected an IPv6 address");
  ExpectRejected(ParseHccnIpv6("ipv6_address:10.0.0.1\nprefix_length:24\n"),
                 "10.0.0.1");
  ExpectRejected(ParseHccnIpv6(std::string(
                     "ipv6_address:fd00::1\0x\nprefix_length:64\n", 40)),
                 "fd00::1\\x00x");
  ExpectRejected(ParseHccnIpv6("ipv6_address:fd00::1\nprefix_length:129\n"),
                 "a number from 0 to 128");
  ExpectRejected(ParseHccnIpv6("ipaddr:10.0.0.1\nnetmask:255.0.0.0\n"),
                 "ipaddr:10.0.0.1");
}

}  // namespace
}  // namespace clusterd
