#include <string>
#include <utility>
#include <vector>

#include "daemon/host/hccn/hccn_answers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/wait/telling.h"

namespace clusterd {
namespace {

std::vector<std::string> Parse(absl::string_view output) {
  const absl::StatusOr<std::vector<Ipv4Interface>> interfaces =
      ParseHccnIp(output);
  if (!interfaces.ok()) return {std::string(interfaces.status().message())};
  std::vector<std::string> texts;
  for (const Ipv4Interface& interface : *interfaces) {
    texts.push_back(interface.ToString());
  }
  return texts;
}

void ExpectRejected(absl::string_view output, const std::string& quoted) {
  const absl::Status status = ParseHccnIp(output).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << output;
  EXPECT_THAT(status, HasText(quoted)) << output;
}

TEST(ParseHccnIpTest, ReadsEachPairOnceAndInOrder) {
  const std::pair<const char*, std::vector<std::string>> kCases[] = {
      {"ipaddr:29.1.112.213\nnetmask:255.255.0.0\n", {"29.1.112.213/16"}},
      {"ipaddr:10.0.0.1\n\nnetmask:255.255.255.0\n", {"10.0.0.1/24"}},
      {"ipaddr:10.0.0.1\nnetmask:255.255.255.0\nipaddr:10.0.0.1\nnetmask:255."
       "255.255.0\n",
       {"10.0.0.1/24"}},
      {"ipaddr:10.0.0.2\nnetmask:255.255.255.0\nipaddr:10.0.0.1\nnetmask:255."
       "255.255.0\n",
       {"10.0.0.2/24", "10.0.0.1/24"}},
      // Behind the warning about its log folder.
      {"[WARNING] \"/var/log/hccn_tool\" is not a directory, hccn_tool logs "
       "may be lost.\nipaddr:10.0.0.1\nnetmask:255.255.255.0\n",
       {"10.0.0.1/24"}},
      // The tool accepts these masks.
      {"ipaddr:10.0.0.1\nnetmask:0.0.0.0\n", {"10.0.0.1/0"}},
      {"ipaddr:10.0.0.1\nnetmask:255.255.255.255\n", {"10.0.0.1/32"}}};
  for (const auto& [output, read] : kCases) EXPECT_EQ(Parse(output), read);
}

TEST(ParseHccnIpTest, RejectsAnythingElseAndQuotesIt) {
  ExpectRejected("", "no ipaddr line");
  ExpectRejected("ipaddr:10.20.0.17\n", "\"ipaddr:10.20.0.17\"");
  ExpectRejected("netmask:255.255.255.0\n", "\"netmask:255.255.255.0\"");
  ExpectRejected("ipaddr:10.0.0.1\nipaddr:10.0.0.2\n",
                 "\"ipaddr:10.0.0.1\\nipaddr:10.0.0.2\"");
  ExpectRejected("ipaddr:10.0.0.1\nnetmask:255.0.255.0\n",
                 "netmask:255.0.255.0");
  ExpectRejected("ipaddr:10.0.0.300\nnetmask:255.255.255.0\n", "10.0.0.300");
  ExpectRejected("ipaddr:\nnetmask:255.255.255.0\n", "ipaddr:");
  ExpectRejected("ipaddr:10.0.0.1\nnetmask:255.255.255.0\nvlan:7\n",
                 "\"vlan:7\"");
  ExpectRejected("Segmentation fault\n", "\"Segmentation fault\"");
  ExpectRejected("\x1b[2J\x07\n", "\\x1b[2J\\x07");
}

TEST(ParseHccnIpv6Test, ReadsAnAddressThatIsNotLinkLocal) {
  EXPECT_EQ(*ParseHccnIpv6("ipv6_address:fd00::1\nprefix_length:64\n"),
            "fd00::1/64");
  EXPECT_EQ(*ParseHccnIpv6("ipv6_address:fe80::1\nprefix_length:64\n"), "");
}

TEST(ParseHccnIpv6Test, RefusesAnythingElse) {
  for (const char* text :
       {"", "ipv6_address:fd00::1\n", "prefix_length:64\n",
        "ipv6_address:fd00:::1\nprefix_length:64\n",
        "ipv6_address:fd00::1\nprefix_length:129\n",
        "ipv6_address:10.20.0.1\nprefix_length:24\n",
        "ipv6_address:fd00::1\nprefix_length:64\nipv6_address:fd00::2\n"}) {
    EXPECT_FALSE(ParseHccnIpv6(text).ok()) << text;
  }
}

}  // namespace
}  // namespace clusterd
