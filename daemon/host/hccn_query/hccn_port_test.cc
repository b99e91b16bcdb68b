#include "daemon/host/hccn_query/query_answers.h"
#include "gtest/gtest.h"
#include "tests/support/wait/telling.h"

namespace clusterd {
namespace {

TEST(ParseHccnSpeedTest, ReadsMegabits) {
  EXPECT_EQ(*ParseHccnSpeed("Speed: 200000 Mb/s\n"), 200000u);
  EXPECT_EQ(*ParseHccnSpeed("Speed: 100000 Mb/s\n"), 100000u);
}

TEST(ParseHccnSpeedTest, KeepsTheToolsUnknownApartFromANumber) {
  const auto speed = ParseHccnSpeed("Speed: Unknown!\n").value();
  EXPECT_EQ(speed, std::nullopt);
}

TEST(ParseHccnSpeedTest, RejectsOtherForms) {
  ExpectRejected(ParseHccnSpeed("Speed: 200000Mb/s\n"), "200000Mb/s");
  ExpectRejected(ParseHccnSpeed("Speed: 200000\n"), "\"200000\"");
  ExpectRejected(ParseHccnSpeed("Speed: -1 Mb/s\n"), "-1 Mb/s");
  ExpectRejected(ParseHccnSpeed("Speed: 4294967296 Mb/s\n"), "4294967296");
  ExpectRejected(ParseHccnSpeed("Speed: Unknown\n"), "\"Unknown\"");
  ExpectRejected(ParseHccnSpeed("speed: 200000 Mb/s\n"), "\"Speed: ...\"");
  ExpectRejected(ParseHccnSpeed(""), "no line");
}

TEST(ParseHccnVnicTest, ReadsLinkAddressAndMask) {
  const auto vnic = ParseHccnVnic(
                        "vnic link status: UP\nvnic ipaddr: 192.0.2.199\n"
                        "vnic netmask: 255.0.0.0\n")
                        .value();
  EXPECT_TRUE(vnic.up());
  EXPECT_EQ(vnic.setting().address(), "192.0.2.199");
  EXPECT_EQ(vnic.setting().netmask(), "255.0.0.0");
}

TEST(ParseHccnVnicTest, ReadsALinkThatIsDown) {
  const auto vnic = ParseHccnVnic(
                        "vnic link status: DOWN\nvnic ipaddr: 192.168.2.199\n"
                        "vnic netmask: 255.255.255.0\n")
                        .value();
  EXPECT_FALSE(vnic.up());
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

TEST(ParseHccnVnicTest, QuotesWhatIsThereInstead) {
  ExpectRejected(ParseHccnVnic(""),
                 "no line \"vnic link status: ...\" in \"\"");
  ExpectRejected(ParseHccnVnic("vnic link status: UP\n"),
                 "no line \"vnic ipaddr: ...\" in \"vnic link status: UP\\n\"");
  ExpectRejected(ParseHccnVnic("vnic link states: UP\n"),
                 "unexpected \"vnic link states: UP\", expected \"vnic link "
                 "status: ...\"");
  ExpectRejected(
      ParseHccnVnic("vnic link status: UP\nvnic ipaddr: 192.168.2.199\n"
                    "vnic netmask: 255.255.255.0\nvnic mtu: 7\n"),
      "unexpected \"vnic mtu: 7\", expected no further line");
}

TEST(ParseHccnVnicTest, PassesOverEmptyLinesBlanksAndTheWarning) {
  const auto vnic = ParseHccnVnic(
                        "[WARNING] \"/var/log/hccn_tool\" is not a directory\n"
                        "vnic link status  :UP\n\n vnic ipaddr:   192.0.2.199\n"
                        "vnic netmask: 255.0.0.0\n")
                        .value();
  EXPECT_EQ(vnic.setting().address(), "192.0.2.199");
  EXPECT_EQ(vnic.setting().netmask(), "255.0.0.0");
}

}  // namespace
}  // namespace clusterd
