// Answers that others have published to the queries that no observation asks:
// captures of an 8-device host ("GPU Advanced Notes 2", arthurchiao.art,
// 2023-09-16), the fixtures of MindCluster's ascend-faultdiag, pages of the
// vendor's documentation, and formats of the hccn_tool source, hicann/driver
// ef377e95 and 05354178. Lines that an author left out of a capture are left
// out here.
#include <set>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "tests/readers/invented_values.h"
#include "tests/readers/read_unasked.h"

namespace clusterd {
namespace {

using ::testing::AllOf, ::testing::HasSubstr, ::testing::IsEmpty,
    ::testing::StartsWith;

constexpr char kWarning[] =
    "[WARNING] \"/var/log/hccn_tool\" is not a directory, hccn_tool logs may "
    "be lost.\n";

struct PublishedAnswer {
  std::string query;
  std::string output;
  std::string value;  // As read_unasked.h writes it.
  uint32_t device = 0;
};

std::vector<PublishedAnswer> PortAnswers() {
  return {
      {"-vnic",
       "vnic link status: UP\nvnic ipaddr: 192.168.2.199\n"
       "vnic netmask: 255.255.255.0\n",
       "UP 192.168.2.199/24"},
      {"-speed", "Speed: 200000 Mb/s\n", "200000 Mb/s"},
      {"-speed", "Speed: Unknown!\n", "unknown"},
  };
}

// The weekdays of the first one are the author's.
std::vector<PublishedAnswer> HistoryAnswers() {
  return {
      {"-link_stat",
       "[devid 0]current time        : Wed Aug  2 03:09:26 2022\n"
       "[devid 0]link up count       : 2\n"
       "[devid 0]link down count     : 1\n"
       "[devid 0]link change records :\n"
       "[devid 0]    Tue Aug  1 14:43:40 2022    LINK UP\n"
       "[devid 0]    Tue Aug  1 14:43:40 2022    LINK DOWN\n",
       "up 2 down 1 changes 44746s UP 44746s DOWN"},
      {"-link_stat",
       "[device 0]current time        : Wed Jun  7 10:08:28 2023\n"
       "[device 0]link up count       : 2\n"
       "[device 0]link change records :\n"
       "[device 0]    Tue Jun  6 16:32:12 2023    LINK UP\n"
       "[device 0]    Tue Jun  6 16:32:10 2023    LINK DOWN\n",
       "up 2 changes 63376s UP 63378s DOWN"},
      {"-link_stat",
       "[devid 0]current time        : Wed Aug  2 03:09:26 2022\n"
       "[devid 0]link up count       : 0\n"
       "[devid 0]link down count     : 0\n"
       "[devid 0]link change records : NA\n",
       "up 0 down 0 changes none"},
      {"-stat",
       "packet statistics:\nmac_tx_mac_pause_num:0\nmac_rx_mac_pause_num:0\n"
       "mac_tx_pfc_pkt_num:0\nroce_qp_status_err_num:0\n"
       "nic_tx_all_pkg_num:122404\nnic_tx_all_oct_num:16921741\n"
       "nic_rx_all_pkg_num:6414803\nnic_rx_all_oct_num:482237805\n",
       "mac_tx_mac_pause_num=0 mac_rx_mac_pause_num=0 mac_tx_pfc_pkt_num=0 "
       "roce_qp_status_err_num=0 nic_tx_all_pkg_num=122404 "
       "nic_tx_all_oct_num=16921741 nic_rx_all_pkg_num=6414803 "
       "nic_rx_all_oct_num=482237805"},
  };
}

std::vector<PublishedAnswer> ModuleAnswers() {
  return {
      {"-optical",
       "optical info:\n"
       "present              : present\n"
       "temperature          : 47 C\n"
       "high power enable reg: enabled\n"
       "vendor name          : Hisense\n"
       "Tx Power0            : 4.4035 mW\n"
       "Rx Power0            : 1.0189 mW\n"
       "RxPower Low Thres    : 0.1445 mW\n"
       "Tx Los Flag          : 0x0\n"
       "Rx Los Flag          : 0xff\n"
       "Host SNR Lane0       : not supported\n"
       "Media SNR Lane0      : 23.1211 dB\n",
       "present; temperature=47 C; Tx Power0=4.4035 mW; "
       "Rx Power0=1.0189 mW; RxPower Low Thres=0.1445 mW; "
       "Host SNR Lane0=none; Media SNR Lane0=23.1211 dB; "
       "Tx Los Flag=0x0; Rx Los Flag=0xff"},
      {"-optical",
       "optical info:\npresent              : not present\n"
       "temperature          : NA\nhigh power enable reg: not enabled\n",
       "not present; temperature=none"},
      {"-optical",
       "optical info:\npresent              : present\n"
       "temperature          : get failed\n",
       "present; temperature=none"},
  };
}

std::vector<PublishedAnswer> TableAnswers() {
  return {
      {"-route",
       "Routing table:\n"
       "Destination     Gateway         Genmask         Flags Metric Ref    "
       "Use Iface\n"
       "default         29.1.0.1        0.0.0.0         UG    0      0        "
       "0 eth3\n"
       "29.1.0.0        *               255.255.0.0     U     0      0        "
       "0 eth3\n"
       "127.0.0.1       *               255.255.255.255 UH    0      0        "
       "0 lo\n"
       "192.168.1.0     *               255.255.255.0   U     0      0        "
       "0 end3v0\n"
       "192.168.2.0     *               255.255.255.0   U     0      0        "
       "0 end3v0\n",
       "0.0.0.0/0 via 29.1.0.1; "
       "29.1.0.0/16; "
       "127.0.0.1/32; "
       "192.168.1.0/24; "
       "192.168.2.0/24"},
      {"-dscp_to_tc", "dscp      tc\n   0       0\n  63       3\n", "0=0 63=3"},
      {"-pfc",
       "PFC configuration:\npriority   0 1 2 3 4 5 6 7\n"
       "enabled    0 0 0 0 1 0 0 0\n",
       "00001000"},
  };
}

std::vector<PublishedAnswer> PublishedAnswers() {
  std::vector<PublishedAnswer> all = PortAnswers();
  for (const auto& answers :
       {HistoryAnswers(), ModuleAnswers(), TableAnswers()}) {
    all.insert(all.end(), answers.begin(), answers.end());
  }
  return all;
}

std::string Read(absl::string_view query, const std::string& output,
                 uint32_t device = 0, int exit_status = 0) {
  EXPECT_THAT(InventedValues(output), IsEmpty()) << output;
  CommandResult run;
  run.standard_output = output;
  run.exit_status = exit_status;
  return ReadUnasked(query, device, run);
}

TEST(PublishedUnaskedTest, EveryAnswerIsReadAsExpected) {
  for (const PublishedAnswer& answer : PublishedAnswers()) {
    EXPECT_EQ(Read(answer.query, answer.output, answer.device), answer.value)
        << answer.query;
  }
}

TEST(PublishedUnaskedTest, EveryReaderHasAnAnswer) {
  std::set<std::string> unread(kUnaskedQueries.begin(), kUnaskedQueries.end());
  for (const PublishedAnswer& answer : PublishedAnswers()) {
    unread.erase(answer.query);
  }
  EXPECT_THAT(unread, IsEmpty());
}

TEST(PublishedUnaskedTest, WarningBeforeTheDataIsPassedOver) {
  for (const PublishedAnswer& answer : PublishedAnswers()) {
    EXPECT_EQ(Read(answer.query, kWarning + answer.output, answer.device),
              answer.value)
        << answer.query;
  }
}

TEST(PublishedUnaskedTest, NoAnswerIsTakenForAnotherQuerys) {
  for (const PublishedAnswer& answer : PublishedAnswers()) {
    for (const absl::string_view query : kUnaskedQueries) {
      if (query == answer.query) continue;
      EXPECT_THAT(Read(query, answer.output, answer.device),
                  StartsWith("missing UNREADABLE: "))
          << answer.query << " read as " << query;
    }
  }
}

TEST(PublishedUnaskedTest, WhatCannotBeReadIsMissingAndQuoted) {
  for (const absl::string_view query : kUnaskedQueries) {
    EXPECT_THAT(Read(query, "another form: 17\n"),
                AllOf(StartsWith("missing UNREADABLE: `hccn_tool -i 0 "),
                      HasSubstr("another form: 17")))
        << query;
    EXPECT_THAT(Read(query, "\n"),
                AllOf(StartsWith("missing UNREADABLE: "), HasSubstr("\"\\n\"")))
        << query;
  }
}

TEST(PublishedUnaskedTest, StatusWithoutTextIsMissingPermission) {
  for (const absl::string_view query : kUnaskedQueries) {
    EXPECT_THAT(Read(query, "", 0, 234),
                StartsWith("missing NOT_PERMITTED: `hccn_tool -i 0 "))
        << query;
  }
}

TEST(PublishedUnaskedTest, CutAnswerHasNoValueThatIsNotThere) {
  for (const PublishedAnswer& answer : PublishedAnswers()) {
    for (size_t size = 0; size < answer.output.size(); ++size) {
      EXPECT_THAT(InventedValues(answer.output.substr(0, size)), IsEmpty())
          << answer.query << " cut after " << size;
    }
  }
}

TEST(PublishedUnaskedTest, ModuleThatCannotBeAskedIsMissing) {
  CommandResult run;
  run.standard_error = "Control link unreachable.\n";
  EXPECT_THAT(ReadUnasked("-optical", 0, run),
              AllOf(StartsWith("missing TOOL_FAILED: "),
                    HasSubstr("Control link unreachable.")));
}

}  // namespace
}  // namespace clusterd
