#include "daemon/host/hccn/hccn_conf.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/wait/has_fields.h"

namespace clusterd {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

using Problem = HccnConf::Problem;

HccnConf Parse(absl::string_view text) {
  absl::StatusOr<HccnConf> conf = ParseHccnConf(text);
  EXPECT_TRUE(conf.ok()) << conf.status();
  return conf.ok() ? *conf : HccnConf();
}

// Returns "line 3: DUPLICATE_KEY" for each problem.
std::vector<std::string> Problems(absl::string_view text) {
  std::vector<std::string> texts;
  const HccnConf conf = Parse(text);
  for (const Problem& problem : conf.problems()) {
    texts.push_back(absl::StrCat("line ", problem.line(), ": ",
                                 Problem::Kind_Name(problem.kind())));
  }
  return texts;
}

TEST(ParseHccnConfTest, ReadsKeysWithTheirDevice) {
  const HccnConf conf =
      Parse("address_0=10.20.0.17\nnetmask_15=255.255.255.0\n");
  ASSERT_THAT(conf, HasFields(R"(
      entries { key: "address" device: 0 value: "10.20.0.17" line: 1 }
      entries { key: "netmask" device: 15 })"));
  EXPECT_THAT(conf.problems(), IsEmpty());
}

TEST(ParseHccnConfTest, ReadsRoutesAndKeysWithSeveralUnderscores) {
  const HccnConf conf = Parse(
      "route_address_172.16.0.0_netmask_255.255.0.0_3=gateway_10.0.0.1\n"
      "tls_ca_recovered_4=1\n"
      "ip_route_0=add 10.0.0.0/24 via 10.0.0.253 dev eth0 table 100\n");
  ASSERT_THAT(conf, HasFields(R"(
      entries { key: "route_address_172.16.0.0_netmask_255.255.0.0"
      device: 3 } entries { key: "tls_ca_recovered" device: 4 } entries {
      value: "add 10.0.0.0/24 via 10.0.0.253 dev eth0 table 100" })"));
  EXPECT_THAT(conf.problems(), IsEmpty());
}

TEST(ParseHccnConfTest, SeesNoDeviceInANumberThatTheToolNeverWrites) {
  for (const char* line : {"address_00=1\n", "address_100=1\n", "address=1\n",
                           "address_=1\n", "address_x=1\n", "_1=1\n"}) {
    const HccnConf conf = Parse(line);
    ASSERT_EQ(conf.entries_size(), 1) << line;
    EXPECT_FALSE(conf.entries(0).has_device()) << line;
  }
}

TEST(ParseHccnConfTest, SkipsCommentsAndShortLines) {
  for (const char* text :
       {"", "#address_0=10.0.0.9\n# \xe4\xb8\xad\nab\n=\n\n"}) {
    EXPECT_THAT(Parse(text).entries(), IsEmpty());
    EXPECT_THAT(Parse(text).problems(), IsEmpty());
  }
  EXPECT_EQ(Parse("").sha256(),
            "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
}

TEST(FindHccnConfValueTest, ObeysTheFirstOfEqualKeysOfTheDevice) {
  const HccnConf conf =
      Parse("address_0=10.0.0.1\naddress_0=10.0.0.2\naddress=10.0.0.2\n");
  EXPECT_EQ(*FindHccnConfValue(conf, "address", 0), "10.0.0.1");
  EXPECT_EQ(FindHccnConfValue(conf, "address", 1), nullptr);
  EXPECT_EQ(FindHccnConfValue(conf, "netmask", 0), nullptr);
}

TEST(ParseHccnConfTest, NoticesWhatTheToolReadsOtherwise) {
  const std::pair<std::string, std::vector<std::string>> kCases[] = {
      {"address_0=10.0.0.1\nmtu_0=1500", {"line 2: NO_FINAL_NEWLINE"}},
      {"address_0=10.0.0.9\r\n", {"line 1: CARRIAGE_RETURN"}},
      // Routes without their prefix.
      {"route_address_1.1.1.0_netmask_255.255.255.0_0=10.0.0.1\n",
       {"line 1: MALFORMED_ROUTE"}},
      {"route_address_1.1.1.0_netmask_255.255.255.0_0=gateway_10.0\n",
       {"line 1: MALFORMED_ROUTE"}},
      // Lines over which the tool's scan stops.
      {"route_address_172.16.0.0_5=gateway_10.0.0.253\n",
       {"line 1: MALFORMED_ROUTE"}},
      {"route_5=172.16.0.0\n", {"line 1: MALFORMED_ROUTE"}},
      {"route_ipv6_address_x_5=1\n", {"line 1: MALFORMED_ROUTE"}},
      {"route_address_1.0.0.0_netmask_255.0.0.0=gateway_10.0.0.1\n",
       {"line 1: MALFORMED_ROUTE"}},
      // It skips these: not in column 0, and without "=".
      {" route_5=172.16.0.0\n", {"line 1: MALFORMED_LINE"}},
      {"route_address_172.16.0.0_netmask_255.255.0.0_5\n",
       {"line 1: MALFORMED_LINE"}},
      // Blanks that it takes for part of the value; it reads no "future".
      {"gateway_1=10.20.0.254\t\nnetdetect_5=10.20.0.254 \ntls_enable_3=0 \n",
       {"line 1: TRAILING_BLANK", "line 2: TRAILING_BLANK",
        "line 3: TRAILING_BLANK"}},
      {"future_5=1 \n", {"line 1: MALFORMED_LINE"}},
      // Beside the others of the device.
      {"gateway_0=x\ngateway_1=x\nudhcpc_enable_1=0\n", {"line 1: BAD_VALUE"}},
      {"udp_port_mode_0=multi_qp\nmulti_qp_count_0=2\n", {"line 1: BAD_VALUE"}},
      {"udp_port_mode_0=multi_qp\nmulti_qp_count_0=2\nmulti_qp_udp_ports_0="
       "5000,5001\n",
       {}},
      // A route to an invalid address counts only for its own device.
      {"route_address_172.16.0.0_netmask_255.255.0.0_5=gateway_10.0.0.300\n",
       {"line 1: BAD_VALUE"}},
      // Every rule.
      {"ip_route_5=add 10.0.0.0/24 via 10.0.0.1 dev eth5 table "
       "100\nip_route_5=x\n",
       {"line 2: BAD_VALUE"}},
      // The first of equal keys counts.
      {"mtu_0=1500\nmtu_0=x\n", {"line 2: DUPLICATE_KEY"}},
      {"mtu_0=1500\nmtu_1=1500\nmtu_0=4200\n", {"line 3: DUPLICATE_KEY"}},
      {"address_0 = 10.0.0.9\n netmask_0=255.255.255.0\nhello "
       "world\n===\nmtu_0=15\x01 0\n",
       {"line 1: MALFORMED_LINE", "line 2: MALFORMED_LINE",
        "line 3: MALFORMED_LINE", "line 4: MALFORMED_LINE",
        "line 5: BAD_VALUE"}},
      {std::string(kHccnConfMaxBytes, '\n'), {}},
      {std::string(kHccnConfMaxBytes + 1, '\n'), {"line 0: FILE_TOO_LARGE"}}};
  for (const auto& [text, problems] : kCases)
    EXPECT_EQ(Problems(text), problems) << text.substr(0, 99);
  EXPECT_EQ(Parse("address_0=10.0.0.9\r\n").entries(0).value(), "10.0.0.9\\r");
}

// The tool's scan ignores text after a good value.
TEST(ParseHccnConfTest, BlamesNoRouteForAHarmlessEnding) {
  const std::string key = "route_address_1.1.1.0_netmask_255.255.255.0_0=";
  for (const char* ending : {"\r", " ", "\t", "=x"}) {
    EXPECT_THAT(Problems(key + "gateway_10.0.0.1" + ending + "\n"), IsEmpty())
        << ending;
  }
  const HccnConf bare = Parse(key + "10.0.0.1\r\n");
  ASSERT_EQ(bare.problems_size(), 1);
  EXPECT_EQ(bare.problems(0).kind(), HccnConf::Problem::MALFORMED_ROUTE);
  // The same as for LF lines, so that it can be repaired as well.
  EXPECT_EQ(bare.problems(0).text(), key + "10.0.0.1");
}

TEST(ParseHccnConfTest, NoticesValuesOverWhichTheRecoveryOfADeviceFails) {
  for (const char* line : {"ip_route_5=x",
                           "send_arp_status_5=2",
                           "tls_ca_recovered_5=2",
                           "gateway_5=",
                           "tls_enable_1=0mtu_2=1500",
                           "address_3=10.0.0.300",
                           "mtu_5=x",
                           "mac_addr_0=6c:b1:58:00:00:aa:bb",
                           "arp_5=",
                           "bitmap_5=0mtu_1=1500",
                           "ip_rule_5=x",
                           "roce_port_5=x",
                           "bw_limit_5=x",
                           "tc_cfg_5=",
                           "prio_tc_5=",
                           "lldp_portid_type_5=",
                           "static_speed_5=x",
                           "arp_5=x",
                           "bitmap_5=1",
                           "tls_enable_0=x",
                           "netmask_0=\"255.0.0.0\""}) {
    EXPECT_THAT(Problems(absl::StrCat(line, "\n")),
                ElementsAre("line 1: BAD_VALUE"))
        << line;
  }
}

TEST(ParseHccnConfTest, TakesWhatTheToolItselfWrites) {
  EXPECT_THAT(
      Problems("address_0=10.0.0.1\nnetmask_0=255.255.255.0\n"
               "gateway_0=10.0.0.254\nnetdetect_0=10.0.0.254\n"
               "mac_addr_0=6c:b1:58:00:00:01\nmtu_0=4200\ntls_enable_0=0\n"
               "arp_0=-i eth0 -s 10.0.0.2 6c:b1:58:00:00:02\n"
               "ip_route_0=add 10.0.0.0/24 via 10.0.0.253 dev eth0 table 100\n"
               "ip_rule_0=add from 10.0.0.1 table 100\nsend_arp_status_0=1\n"
               "tls_ca_recovered_0=1\nxsfp_reset_max_times_0=0\n"),
      IsEmpty());
}

TEST(ParseHccnConfTest, SplitsALongLineLikeTheTool) {
  const std::string junk = "junk=" + std::string(378, 'z');
  ASSERT_EQ(junk.size(), kHccnConfMaxLineBytes);
  const HccnConf conf = Parse(junk + "address_0=10.0.0.7\n");
  ASSERT_EQ(conf.entries_size(), 2);
  EXPECT_EQ(*FindHccnConfValue(conf, "address", 0), "10.0.0.7");
  EXPECT_EQ(conf.entries(1).line(), 1u);
  EXPECT_THAT(Problems(junk + "address_0=10.0.0.7\n"),
              ElementsAre("line 1: LINE_TOO_LONG"));
}

TEST(ParseHccnConfTest, BoundsProblems) {
  std::string text;
  for (int i = 0; i < 1000; ++i) text += "hello world\n";
  EXPECT_EQ(Parse(text).problems_size(), 100);
}

TEST(ParseHccnConfTest, RejectsMoreEntriesThanATransferCanHold) {
  std::string text;
  for (size_t i = 0; i <= kHccnConfMaxEntries; ++i) text += "a=1\n";
  EXPECT_TRUE(absl::IsInvalidArgument(ParseHccnConf(text).status()));
}

}  // namespace
}  // namespace clusterd
