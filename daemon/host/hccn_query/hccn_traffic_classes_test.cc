#include <string>

#include "absl/strings/str_cat.h"
#include "daemon/host/hccn_query/query_answers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/wait/telling.h"

namespace clusterd {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;

TEST(ParseHccnDscpToTcTest, ReadsTheClassOfEachDscp) {
  const auto classes =
      ParseHccnDscpToTc("dscp      tc\n   0       1\n  33       0\n").value();
  EXPECT_THAT(classes, ElementsAre(Pair(0, 1), Pair(33, 0)));
}

TEST(ParseHccnDscpToTcTest, RejectsOtherTables) {
  ExpectRejected(ParseHccnDscpToTc(""), "dscp tc");
  ExpectRejected(ParseHccnDscpToTc("dscp      tc\n"), "a line for each DSCP");
  ExpectRejected(ParseHccnDscpToTc("tc      dscp\n  33       0\n"), "tc  ");
  ExpectRejected(ParseHccnDscpToTc("dscp      tc\n  64       0\n"),
                 "\"  64       0\", expected a DSCP, a number from 0 to 63");
  ExpectRejected(ParseHccnDscpToTc("dscp      tc\n  33\n"), "\"  33\"");
  ExpectRejected(ParseHccnDscpToTc("dscp      tc\n  33       x\n"),
                 "33       x\"");
  ExpectRejected(ParseHccnDscpToTc("dscp tc\n33 0\n33 1\n"), "each DSCP once");
}

constexpr absl::string_view kPriorities =
    "PFC configuration:\npriority   0 1 2 3 4 5 6 7\n";

TEST(ParseHccnPfcTest, ReadsWhichPrioritiesAreOn) {
  const auto pfc =
      ParseHccnPfc(absl::StrCat(kPriorities, "enabled    0 0 0 0 1 0 0 1\n"))
          .value();
  EXPECT_EQ(pfc, "0,0,0,0,1,0,0,1");
}

TEST(ParseHccnPfcTest, RejectsOtherTables) {
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
  const auto classes = ParseHccnPriorityToTc(
                           "Priority mapping:\npriority   0 1 2 3 4 5 6 7\n"
                           "TC         0 1 2 3 0 0 0 1\n")
                           .value();
  EXPECT_EQ(classes, "0,1,2,3,0,0,0,1");
}

TEST(ParseHccnPriorityToTcTest, RejectsOtherTables) {
  ExpectRejected(ParseHccnPriorityToTc(""), "Priority mapping:");
  ExpectRejected(
      ParseHccnPriorityToTc("Priority mapping:\npriority   0 1 2 3 4 5 6 7\n"
                            "TC         0 1 2 4 0 0 0 1\n"),
      "eight of 0 to 3");
  ExpectRejected(
      ParseHccnPriorityToTc("PFC configuration:\npriority   0 1 2 3 4 5 6 7\n"
                            "enabled    0 0 0 0 1 0 0 0\n"),
      "Priority mapping:");
}

TEST(ParseHccnRocePortTest, ReadsAPortOrWhatChoosesOne) {
  constexpr char kPairs[] =
      "UDP port list(based on IP pair):\nno entry has been configured.\n";
  const struct {
    const char* said;
    const char* port;
  } cases[] = {
      {"udp_port:4791\nstatus:custom\n", "4791"},
      {"udp_port:4791\nstatus:auto\n", "auto"},
      {"udp_port:Unknown\nstatus:auto\n", "auto"},
      {"udp_port:4097,4098\nstatus:multi_qp\nqp_count:2\n", "multi_qp"},
      {"udp_port:calculated by the NSLB-DP algorithm\n"
       "status:code(nslb_dp)\nlisten_port:5000\n",
       "code(nslb_dp)"},
      // The record udp-get of a device without a bit for the mode.
      {"Unknown udp port\n", "auto"}};
  for (const auto& [said, port] : cases) {
    const auto read = ParseHccnRocePort(absl::StrCat(said, kPairs));
    ASSERT_TRUE(read.ok()) << read.status();
    EXPECT_EQ(*read, port) << said;
  }
}

TEST(ParseHccnRocePortTest, RejectsWhatNamesNoPort) {
  ExpectRejected(ParseHccnRocePort(""), "udp_port:");
  ExpectRejected(ParseHccnRocePort("udp_port:4791\n"), "its status below");
  ExpectRejected(ParseHccnRocePort("udp_port:unknown\nstatus:custom\n"),
                 "a UDP port that is set");
  ExpectRejected(ParseHccnRocePort("udp_port:70000\nstatus:custom\n"), "70000");
  ExpectRejected(ParseHccnRocePort("udp_port:4791\nstatus:new\n"),
                 "status:new");
}

}  // namespace
}  // namespace clusterd
