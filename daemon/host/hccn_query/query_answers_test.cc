#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "daemon/host/hccn_query/query_facts.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/wait/has_fields.h"
#include "tests/support/wait/telling.h"

namespace clusterd {
namespace {

using ::testing::AnyOf;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::SizeIs;

constexpr absl::string_view kPresent =
    "optical info:\npresent              : present\n";

// Returns an empty module, after a test failure, if it cannot be parsed.
HccnOptical ParseOptical(absl::string_view rows) {
  const auto optical = ParseHccnOptical(absl::StrCat(kPresent, rows));
  EXPECT_TRUE(optical.ok()) << optical.status();
  return optical.ok() ? *optical : HccnOptical();
}

void ExpectOpticalRejected(absl::string_view output, const std::string& said) {
  clusterd::ExpectRejected(ParseHccnOptical(output), said);
}

void ExpectRowRejected(absl::string_view row, const std::string& said) {
  ExpectOpticalRejected(absl::StrCat(kPresent, row, "\n"), said);
}

TEST(ParseHccnOpticalTest, ReadsWhetherAModuleIsThere) {
  EXPECT_TRUE(ParseOptical("").present);
  const auto absent =
      ParseHccnOptical("optical info:\npresent              : not present\n")
          .value();
  EXPECT_FALSE(absent.present);
}

TEST(ParseHccnOpticalTest, ReadsNumbersWithTheirUnits) {
  const struct {
    const char* row;
    const char* name;
    double number;
    const char* unit;
  } kRows[] = {
      {"temperature          : 47 C", "temperature", 47, "C"},
      {"Temp Low Thres       : -5 C", "Temp Low Thres", -5, "C"},
      {"Vcc                  : 3300.00 mV", "Vcc", 3300, "mV"},
      {"Vcc High Thres       : 3630.00 mV", "Vcc High Thres", 3630, "mV"},
      {"Rx Power3            : 1.0189 mW", "Rx Power3", 1.0189, "mW"},
      {"RxPower Low Thres    : 0.1445 mW", "RxPower Low Thres", 0.1445, "mW"},
      {"Tx Bias0             : 8.0000 mA", "Tx Bias0", 8, "mA"},
      {"Media SNR Lane0      : 23.1211 dB", "Media SNR Lane0", 23.1211, "dB"},
      {"xsfp wave length     : 850 nm", "xsfp wave length", 850, "nm"}};
  for (const auto& [row, name, number, unit] : kRows) {
    const HccnOptical optical = ParseOptical(absl::StrCat(row, "\n"));
    ASSERT_THAT(optical.rows, SizeIs(1)) << row;
    EXPECT_EQ(optical.rows[0].name, name);
    EXPECT_EQ(optical.rows[0].number, number);
    EXPECT_EQ(optical.rows[0].unit, unit);
  }
}

TEST(ParseHccnOpticalTest, KeepsARowWithoutItsNumber) {
  const HccnOptical optical = ParseOptical(
      "Tx Power             : NA\nHost SNR Lane0       : not supported\n"
      "temperature          : get failed\n");
  ASSERT_THAT(optical.rows, SizeIs(3));
  EXPECT_EQ(optical.rows[0].unit, "mW");
  EXPECT_EQ(optical.rows[1].unit, "dB");
  EXPECT_EQ(optical.rows[2].unit, "C");
  for (const HccnOpticalRow& row : optical.rows) {
    EXPECT_EQ(row.number, std::nullopt);
  }
}

TEST(ParseHccnOpticalTest, ReadsFlags) {
  const HccnOptical optical = ParseOptical(
      "Tx Los Flag          : 0x0\nRx Los Flag          : 0xff\n"
      "Rx LoL Flag          : NA\n");
  ASSERT_THAT(optical.rows, SizeIs(3));
  for (const HccnOpticalRow& row : optical.rows) {
    EXPECT_THAT(row.unit, IsEmpty());
  }
  EXPECT_EQ(optical.rows[0].name, "Tx Los Flag");
  EXPECT_EQ(optical.rows[0].number, 0);
  EXPECT_EQ(optical.rows[1].number, 0xff);
  EXPECT_EQ(optical.rows[2].number, std::nullopt);
}

TEST(ParseHccnOpticalTest, LeavesOutRowsOfText) {
  EXPECT_THAT(
      ParseOptical("vendor name          : \nvendor rev           : a:b\n"
                   "high power enable reg: enabled\n")
          .rows,
      IsEmpty());
}

TEST(ParseHccnOpticalTest, KeepsNamesPrintableAndBounded) {
  const HccnOptical optical = ParseOptical(
      absl::StrCat("Vcc\x1b[2J: 1 mV\nVcc", std::string(1000, 'x'), ": NA\n"));
  ASSERT_THAT(optical.rows, SizeIs(2));
  EXPECT_EQ(optical.rows[0].name, "Vcc\\x1b[2J");
  EXPECT_THAT(optical.rows[1].name, SizeIs(kMaxHccnTextBytes + 3));
}

TEST(ParseHccnOpticalTest, NeverTakesAnotherFormForANumber) {
  for (const char* row :
       {"temperature: 47", "temperature: 47 mW", "temperature: 47C",
        "Tx Power0: 1,2 mW", "Tx Power0: .5 mW", "Tx Power0: 1. mW",
        "Tx Power0: 1.00000 mW", "Tx Power0: 1e3 mW", "Tx Power0: nan mW",
        "Tx Power0: inf mW", "Tx Power0: 0x1 mW", "Tx Power0: +1 mW",
        "Tx Power0: 01 mW", "Tx Power0: - mW", "Vcc: ", "Vcc: na"}) {
    ExpectRowRejected(row, row);
  }
  for (const char* row : {"Tx Los Flag: 0", "Tx Los Flag: 0x", "Tx Los Flag: ",
                          "Tx Los Flag: 0x-1", "Tx Los Flag: 0x123456789"}) {
    ExpectRowRejected(row, row);
  }
}

TEST(ParseHccnOpticalTest, RejectsWhatDoesNotBeginAsItShould) {
  ExpectOpticalRejected("", "unexpected \"\", expected \"optical info:\"");
  ExpectOpticalRejected("present              : present\n",
                        "\"optical info:\"");
  ExpectOpticalRejected("optical info:\n", "present: present");
  ExpectOpticalRejected("optical info:\ntemperature: 47 C\n",
                        "temperature: 47 C");
  ExpectOpticalRejected("optical info:\npresent: maybe\n", "present: maybe");
  ExpectRowRejected("present: not present", "each name once");
  ExpectRowRejected("vendor rev: 1\nvendor name: a\nvendor rev: 2",
                    "unexpected \"vendor rev: 2\", expected each name once");
  ExpectRowRejected("a line without colon",
                    "unexpected \"a line without colon\", expected \"name: "
                    "value\"");
  ExpectRowRejected(" : 7", "unexpected \" : 7\", expected \"name: value\"");
}

constexpr absl::string_view kHistory =
    "[devid 0]current time        : Tue Oct 28 21:46:46 2025\n"
    "[devid 0]link up count       : 2\n"
    "[devid 0]link down count     : 1\n"
    "[devid 0]link change records :\n"
    "[devid 0]    Sun Oct  5 10:13:51 2025    LINK UP\n"
    "[devid 0]    Sun Oct  5 10:13:50 2025    LINK DOWN\n";

void ExpectHistoryRejected(const std::string& output, const std::string& said) {
  clusterd::ExpectRejected(ParseHccnLinkStat(output, 0), said);
}

std::string WithInstead(absl::string_view old_text,
                        absl::string_view new_text) {
  return absl::StrReplaceAll(kHistory, {{old_text, new_text}});
}

TEST(ParseHccnLinkStatTest, ReadsCountsAndChanges) {
  const auto history = ParseHccnLinkStat(kHistory, 0).value();
  EXPECT_EQ(history.ups(), 2u);
  EXPECT_EQ(history.downs(), 1u);
  ASSERT_THAT(history.changes(), SizeIs(2));
  EXPECT_EQ(history.changes(0).seconds_ago(), 2028775u);
  EXPECT_TRUE(history.changes(0).up());
  EXPECT_EQ(history.changes(1).seconds_ago(), 2028776u);
  EXPECT_FALSE(history.changes(1).up());
}

TEST(ParseHccnLinkStatTest, TakesAChangeAfterNowAsJustNowAndNoHistory) {
  const auto history =
      ParseHccnLinkStat(WithInstead("Oct  5 10:13:51", "Oct 28 21:46:47"), 0)
          .value();
  EXPECT_EQ(history.changes(0).seconds_ago(), 0u);
  const auto none =
      ParseHccnLinkStat(
          "[devid 0]current time        : Tue Aug  2 03:09:26 2022\n"
          "[devid 0]link up count       : 0\n"
          "[devid 0]link down count     : 0\n"
          "[devid 0]link change records : NA\n",
          0)
          .value();
  EXPECT_THAT(none.changes(), IsEmpty());
}

TEST(ParseHccnLinkStatTest, ReadsTheDocumentedPrefixWithoutDowns) {
  const auto stat =
      ParseHccnLinkStat(
          "[device 2]current time        : Fri Sep  1 06:37:26 2023\n"
          "[device 2]link up count       : 2\n"
          "[device 2]link change records :\n"
          "[device 2]    Fri Sep  1 06:34:43 2023    LINK DOWN\n",
          2)
          .value();
  EXPECT_FALSE(stat.has_downs());
  EXPECT_THAT(stat.changes(), SizeIs(1));
}

TEST(ParseHccnLinkStatTest, TakesCountsAsPrintfWritesThem) {
  const auto most =
      ParseHccnLinkStat(
          WithInstead("count       : 2", "count       : 18446744073709551615"),
          0)
          .value();
  EXPECT_EQ(most.ups(), ~uint64_t{0});
  for (const char* count :
       {"", "-1", "+1", "01", "1.0", "0x1", "1e3", "18446744073709551616"}) {
    ExpectHistoryRejected(
        WithInstead("count     : 1", absl::StrCat("count     : ", count)),
        absl::StrCat("\"", count, "\", expected a number"));
  }
}

TEST(ParseHccnLinkStatTest, RejectsTimesThatTheToolDoesNotPrint) {
  // Weekdays are not compared.
  EXPECT_TRUE(ParseHccnLinkStat(WithInstead("Tue Oct", "Wed Oct"), 0).ok());
  const char* const kTimes[][3] = {
      {"Tue Oct", "Die Oct", "Die Oct 28"},
      {"Oct 28", "Feb 30", "Feb 30"},
      {"Oct  5 10:13:51", "Oct 05 10:13:51", "Oct 05"},
      {"21:46:46", "24:46:46", "24:46:46"},
      {"21:46:46", "21:46:60", "21:46:60"},
      {"Tue Oct 28 21:46:46 2025", "infinite-future", "infinite-future"}};
  for (const auto& [time, other, said] : kTimes) {
    ExpectHistoryRejected(WithInstead(time, other), said);
  }
}

TEST(ParseHccnLinkStatTest, RejectsAnAnswerThatWasCut) {
  for (size_t size = 0; size + 1 < kHistory.size(); ++size) {
    const std::string cut(kHistory.substr(0, size));
    if (!ParseHccnLinkStat(cut, 0).ok()) continue;
    // Whole lines of changes may be missing at the end, which is undetectable.
    EXPECT_THAT(cut, AnyOf(EndsWith("LINK UP"), EndsWith("LINK UP\n"),
                           EndsWith("LINK DOWN")));
  }
}

TEST(ParseHccnLinkStatTest, RejectsLinesOutOfOrderOrOfAnotherDevice) {
  ExpectHistoryRejected("", "no line \"current time: ...\" in \"\"");
  ExpectHistoryRejected(WithInstead("link up count", "link UP count"),
                        "unexpected \"link UP count       : 2\"");
  ExpectHistoryRejected(WithInstead("count       : 2", "count       : two"),
                        "\"two\", expected a number");
  ExpectHistoryRejected(WithInstead("[devid 0]link down", "[devid 1]link down"),
                        "[devid 1]link down");
  ExpectHistoryRejected(WithInstead("records :", "records : NA"),
                        "NA for no link");
  ExpectHistoryRejected(WithInstead("LINK DOWN", "LINK SLOW"), "LINK SLOW");
}

TEST(ParseHccnDscpToTcTest, ReadsTheClassOfEachDscpAndNoOtherTable) {
  const auto classes =
      ParseHccnDscpToTc("dscp      tc\n   0       1\n  33       0\n").value();
  EXPECT_THAT(classes, ElementsAre(Pair(0, 1), Pair(33, 0)));
  const std::pair<const char*, const char*> kRejected[] = {
      {"", "dscp tc"},
      {"dscp      tc\n", "a line for each DSCP"},
      {"tc      dscp\n  33       0\n", "tc  "},
      {"dscp      tc\n  64       0\n",
       "\"  64       0\", expected a DSCP, a number from 0 to 63"},
      {"dscp      tc\n  33\n", "\"  33\""},
      {"dscp      tc\n  33       x\n", "33       x\""},
      {"dscp tc\n33 0\n33 1\n", "each DSCP once"}};
  for (const auto& [table, said] : kRejected) {
    ExpectRejected(ParseHccnDscpToTc(table), said);
  }
}

constexpr absl::string_view kPriorities =
    "PFC configuration:\npriority   0 1 2 3 4 5 6 7\n";

TEST(ParseHccnPfcTest, ReadsWhichPrioritiesAreOn) {
  EXPECT_EQ(
      *ParseHccnPfc(absl::StrCat(kPriorities, "enabled    0 0 0 0 1 0 0 1\n")),
      "0,0,0,0,1,0,0,1");
  ExpectRejected(ParseHccnPfc(kPriorities), "two lines below");
  ExpectRejected(ParseHccnPfc("PFC configuration:\npriority   0 1 2 3 4 5 7 6\n"
                              "enabled    0 0 0 0 1 0 0 0\n"),
                 "priority   0 1 2 3 4 5 7 6");
  for (const char* row :
       {"enabled    0 0 0 0 1 0 0", "enabled    0 0 0 0 1 0 0 0 0",
        "enabled    0 0 0 0 2 0 0 0", "disabled   0 0 0 0 1 0 0 0"}) {
    ExpectRejected(ParseHccnPfc(absl::StrCat(kPriorities, row, "\n")), row);
  }
}

TEST(ParseHccnPriorityToTcTest, ReadsTheClassOfEachPriority) {
  EXPECT_EQ(
      *ParseHccnPriorityToTc("Priority mapping:\npriority   0 1 2 3 4 5 6 7\n"
                             "TC         0 1 2 3 0 0 0 1\n"),
      "0,1,2,3,0,0,0,1");
  const std::pair<std::string, const char*> kRejected[] = {
      {"", "Priority mapping:"},
      {"Priority mapping:\npriority   0 1 2 3 4 5 6 7\n"
       "TC         0 1 2 4 0 0 0 1\n",
       "eight of 0 to 3"},
      {absl::StrCat(kPriorities, "enabled    0 0 0 0 1 0 0 0\n"),
       "Priority mapping:"}};
  for (const auto& [table, said] : kRejected) {
    ExpectRejected(ParseHccnPriorityToTc(table), said);
  }
}

TEST(ParseHccnRocePortTest, ReadsAPortOrWhatChoosesOne) {
  constexpr char kPairs[] =
      "UDP port list(based on IP pair):\nno entry has been configured.\n";
  const std::pair<const char*, const char*> kRead[] = {
      {"udp_port:4791\nstatus:custom\n", "4791"},
      {"udp_port:4791\nstatus:auto\n", "auto"},
      {"udp_port:Unknown\nstatus:auto\n", "auto"},
      {"udp_port:4097,4098\nstatus:multi_qp\nqp_count:2\n", "multi_qp"},
      {"udp_port:calculated by the NSLB-DP algorithm\n"
       "status:code(nslb_dp)\nlisten_port:5000\n",
       "code(nslb_dp)"},
      // The record udp-get of a device without a bit for the mode.
      {"Unknown udp port\n", "auto"}};
  for (const auto& [said, port] : kRead) {
    const auto read = ParseHccnRocePort(absl::StrCat(said, kPairs)).value();
    EXPECT_EQ(read, port) << said;
  }
  const std::pair<const char*, const char*> kRejected[] = {
      {"", "udp_port:"},
      {"udp_port:4791\n", "its status below"},
      {"udp_port:unknown\nstatus:custom\n", "a UDP port that is set"},
      {"udp_port:70000\nstatus:custom\n", "70000"},
      {"udp_port:4791\nstatus:new\n", "status:new"}};
  for (const auto& [said, quoted] : kRejected) {
    ExpectRejected(ParseHccnRocePort(said), quoted);
  }
}

TEST(ParseHccnSpeedTest, ReadsMegabits) {
  EXPECT_EQ(*ParseHccnSpeed("Speed: 200000 Mb/s\n"), 200000u);
  EXPECT_EQ(*ParseHccnSpeed("Speed: 100000 Mb/s\n"), 100000u);
  EXPECT_EQ(ParseHccnSpeed("Speed: Unknown!\n").value(), std::nullopt);
  const std::pair<const char*, const char*> kRejected[] = {
      {"Speed: 200000Mb/s\n", "200000Mb/s"},
      {"Speed: 200000\n", "\"200000\""},
      {"Speed: -1 Mb/s\n", "-1 Mb/s"},
      {"Speed: 4294967296 Mb/s\n", "4294967296"},
      {"Speed: Unknown\n", "\"Unknown\""},
      {"speed: 200000 Mb/s\n", "\"Speed: ...\""},
      {"", "no line"}};
  for (const auto& [text, said] : kRejected) {
    ExpectRejected(ParseHccnSpeed(text), said);
  }
}

TEST(ParseHccnVnicTest, ReadsLinkAddressAndMask) {
  // Also over empty lines, blanks and the warning.
  for (const char* text :
       {"vnic link status: UP\nvnic ipaddr: 192.0.2.199\n"
        "vnic netmask: 255.0.0.0\n",
        "[WARNING] \"/var/log/hccn_tool\" is not a directory\n"
        "vnic link status  :UP\n\n vnic ipaddr:   192.0.2.199\n"
        "vnic netmask: 255.0.0.0\n"}) {
    const auto vnic = ParseHccnVnic(text).value();
    EXPECT_THAT(vnic, HasFields(R"(
        up: true setting { address: "192.0.2.199" netmask: "255.0.0.0" })"));
  }
  EXPECT_FALSE(
      ParseHccnVnic("vnic link status: DOWN\nvnic ipaddr: 192.168.2.199\n"
                    "vnic netmask: 255.255.255.0\n")
          ->up());
}

TEST(ParseHccnVnicTest, RejectsAMissingOrMalformedLine) {
  const std::pair<const char*, const char*> kRejected[] = {
      {"", "no line \"vnic link status: ...\" in \"\""},
      {"vnic link status: UP\n",
       "no line \"vnic ipaddr: ...\" in \"vnic link status: UP\\n\""},
      {"vnic link states: UP\n",
       "unexpected \"vnic link states: UP\", expected \"vnic link status: "
       "...\""},
      {"link status: UP\n", "link status: UP"},
      {"vnic link status: UPP\nvnic ipaddr: 192.168.2.199\n"
       "vnic netmask: 255.255.255.0\n",
       "\"UPP\""},
      {"vnic link status: UP\nvnic ipaddr: 192.168.2.199\n"
       "vnic netmask: 255.0.255.0\n",
       "\"192.168.2.199 255.0.255.0\""},
      {"vnic link status: UP\nvnic ipaddr: 192.168.2.199\n"
       "vnic netmask: 255.255.255.0\nvnic mtu: 7\n",
       "unexpected \"vnic mtu: 7\", expected no further line"}};
  for (const auto& [text, said] : kRejected) {
    ExpectRejected(ParseHccnVnic(text), said);
  }
}

constexpr absl::string_view kHeadings =
    "Routing table:\n"
    "Destination     Gateway         Genmask         Flags Metric Ref    Use "
    "Iface\n";

TEST(ParseHccnRoutesTest, ReadsTheDefaultRouteAndSubnets) {
  const auto routes =
      ParseHccnRoutes(absl::StrCat(kHeadings,
                                   "default         29.1.0.1        0.0.0.0    "
                                   "     UG    3      0        0 "
                                   "eth3\n"
                                   "192.168.1.0     *               "
                                   "255.255.255.0   U     0      0        0 "
                                   "end3v0\n\n"))
          .value();
  ASSERT_THAT(routes, SizeIs(2));
  const HccnRoute& first = routes.front();
  EXPECT_EQ(first.destination.ToString(), "0.0.0.0/0");
  ASSERT_TRUE(first.gateway.has_value());
  EXPECT_EQ(first.gateway->ToString(), "29.1.0.1");
  const HccnRoute& second = routes.back();
  EXPECT_EQ(second.destination.ToString(), "192.168.1.0/24");
  EXPECT_FALSE(second.gateway.has_value());
}

TEST(ParseHccnRoutesTest, ReadsATableWithoutRoutesAndNoneWithoutHeadings) {
  const auto routes = ParseHccnRoutes(kHeadings).value();
  EXPECT_THAT(routes, IsEmpty());
  ExpectRejected(ParseHccnRoutes(""),
                 "unexpected \"\", expected \"Routing table:\"");
  ExpectRejected(ParseHccnRoutes("Routing table:\n\n"), "names of the columns");
  ExpectRejected(ParseHccnRoutes("Routing table:\nDestination Gateway\n"),
                 "unexpected \"Destination Gateway\"");
}

TEST(ParseHccnRoutesTest, RejectsRowsThatItCannotTrust) {
  for (const char* row : {"default 29.1.0.1 0.0.0.0 UG 0 0 eth3",
                          "default 29.1.0.1 0.0.0.0 UG 0 0 0 eth3 x",
                          "default 29.1.0.1 255.0.0.0 UG 0 0 0 eth3",
                          "10.0.0.1 * 255.255.255.0 U 0 0 0 eth0",
                          "10.0.0.0 * 255.0.255.0 U 0 0 0 eth0",
                          "localnet * 255.0.0.0 U 0 0 0 eth0",
                          "10.0.0.0 gw.example 255.0.0.0 UG 0 0 0 eth0",
                          "10.0.0.0 * 255.0.0.0 U x 0 0 eth0",
                          "10.0.0.0 * 255.0.0.0 U 0 -1 0 eth0"}) {
    ExpectRejected(ParseHccnRoutes(absl::StrCat(kHeadings, row, "\n")),
                   absl::StrCat("unexpected \"", row, "\""));
  }
}

TEST(ParseHccnPacketStatisticsTest, ReadsCountersInTheToolsOrder) {
  const auto counters = ParseHccnPacketStatistics(
                            "packet statistics:\nmac_tx_mac_pause_num:0\n"
                            "nic_rx_all_oct_num:18446744073709551615\n")
                            .value();
  ASSERT_THAT(counters, SizeIs(2));
  EXPECT_EQ((counters)[0].name, "mac_tx_mac_pause_num");
  EXPECT_EQ((counters)[0].value, 0u);
  EXPECT_EQ((counters)[1].name, "nic_rx_all_oct_num");
  EXPECT_EQ((counters)[1].value, ~uint64_t{0});
}

TEST(ParseHccnPacketStatisticsTest, RejectsWhatIsNoCounter) {
  const std::pair<const char*, const char*> kRejected[] = {
      {"packet statistics:\n", "expected counters"},
      {"mac_tx_mac_pause_num:0\n", "\"packet statistics:\""},
      {"packet statistics:\nmac_tx_pause:-1\n", "mac_tx_pause:-1"},
      {"packet statistics:\nMac tx:1\n", "Mac tx:1"},
      {"packet statistics:\na:1\na:2\n", "each name once"},
      {"packet statistics:\n...\n", "\"...\""}};
  for (const auto& [text, said] : kRejected) {
    ExpectRejected(ParseHccnPacketStatistics(text), said);
  }
}

}  // namespace
}  // namespace clusterd
