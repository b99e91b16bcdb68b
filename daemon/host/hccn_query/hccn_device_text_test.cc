#include "daemon/host/hccn_query/hccn_device_text.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace clusterd {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

template <typename T>
void ExpectRejected(const absl::StatusOr<T>& parsed, const std::string& said) {
  EXPECT_EQ(parsed.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(parsed.status().message()), HasSubstr(said));
}

TEST(ParseHccnDeviceTextTest, KeepsTheLinesBelowEachHeading) {
  EXPECT_THAT(*ParseHccnArpTable("arp table:\na b\n\n c\n"),
              ElementsAre("a b", "c"));
  EXPECT_THAT(*ParseHccnIpRouteTable("ip route table:\na\n"), ElementsAre("a"));
  EXPECT_THAT(*ParseHccnIpRuleTable("ip rule table:\na\n"), ElementsAre("a"));
  EXPECT_THAT(*ParseHccnPci("pci:\na\n"), ElementsAre("a"));
}

TEST(ParseHccnDeviceTextTest, TakesNothingBelowTheHeadingForNothing) {
  EXPECT_THAT(*ParseHccnArpTable("arp table:\n\n"), IsEmpty());
  EXPECT_THAT(*ParseHccnNetdevStatus("Netdev status:\n"), IsEmpty());
}

TEST(ParseHccnDeviceTextTest, RejectsAnotherAnswersHeading) {
  ExpectRejected(ParseHccnArpTable("ip rule table:\na\n"),
                 "unexpected \"ip rule table:\", expected \"arp table:\"");
  ExpectRejected(ParseHccnIpRouteTable(""), "no line \"ip route table:\"");
  ExpectRejected(ParseHccnPci("pci: a\n"), "\"pci: a\"");
  ExpectRejected(ParseHccnNetdevStatus(""), "Netdev status:");
}

TEST(ParseHccnDeviceTextTest, MakesHostileTextPrintable) {
  EXPECT_THAT(*ParseHccnArpTable("arp table:\n\x1b[2J\n"),
              ElementsAre("\\x1b[2J"));
}

TEST(ParseHccnNetdevStatusTest, BeginsWithWhatFollowsTheHeading) {
  EXPECT_THAT(*ParseHccnNetdevStatus("Netdev status:Settings for eth3:\n"
                                     "\tSpeed: 200000Mb/s\n"
                                     "\tLink detected: yes\n\n"),
              ElementsAre("Settings for eth3:", "Speed: 200000Mb/s",
                          "Link detected: yes"));
}

}  // namespace
}  // namespace clusterd
