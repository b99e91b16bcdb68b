#include "daemon/host/hccn_query/hccn_port.h"

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

TEST(ParseHccnSpeedTest, ReadsMegabits) {
  EXPECT_EQ(*ParseHccnSpeed("Speed: 200000 Mb/s\n"), 200000u);
  EXPECT_EQ(*ParseHccnSpeed("Speed: 100000 Mb/s\n"), 100000u);
}

TEST(ParseHccnSpeedTest, KeepsTheToolsUnknownApartFromANumber) {
  const auto speed = ParseHccnSpeed("Speed: Unknown!\n");
  ASSERT_TRUE(speed.ok()) << speed.status();
  EXPECT_EQ(*speed, std::nullopt);
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

TEST(ParseHccnDuplexTest, ReadsEveryWordOfTheTool) {
  EXPECT_EQ(*ParseHccnDuplex("Duplex: Full\n"), HccnDuplex::kFull);
  EXPECT_EQ(*ParseHccnDuplex("Duplex: Half\n"), HccnDuplex::kHalf);
  EXPECT_EQ(*ParseHccnDuplex("Duplex: Unknown!\n"), HccnDuplex::kUnknown);
  ExpectRejected(ParseHccnDuplex("Duplex: full\n"), "\"full\"");
}

TEST(ParseHccnMacTest, ReadsSixPairsOfDigits) {
  EXPECT_EQ(*ParseHccnMac("mac addr: 6c:b1:58:00:00:01\n"),
            "6c:b1:58:00:00:01");
}

TEST(ParseHccnMacTest, RejectsOtherForms) {
  ExpectRejected(ParseHccnMac("mac addr: 6c:b1:58:00:00\n"),
                 "unexpected \"6c:b1:58:00:00\", expected a MAC address");
  ExpectRejected(ParseHccnMac("mac addr: 6c:b1:58:00:00:0g\n"), "0g");
  ExpectRejected(ParseHccnMac("mac addr: 6c-b1-58-00-00-01\n"), "6c-b1");
  ExpectRejected(ParseHccnMac("mac addr: 6c:b1:58:00:00:01:02\n"), ":02");
}

TEST(ParseHccnFecTest, ReadsEveryModeOfTheTool) {
  EXPECT_EQ(*ParseHccnFec("fec mode: rs FEC mode\n"), HccnFec::kRs);
  EXPECT_EQ(*ParseHccnFec("fec mode: no FEC mode\n"), HccnFec::kNone);
  EXPECT_EQ(*ParseHccnFec("fec mode: auto FEC mode\n"), HccnFec::kAuto);
}

TEST(ParseHccnFecTest, RejectsTheAnswerOfDevicesWithoutModes) {
  ExpectRejected(
      ParseHccnFec("This device does not support switching fec mode.\n"),
      "This device does not support");
}

TEST(ParseHccnBandwidthTest, ReadsRightAlignedNumbers) {
  const auto load = ParseHccnBandwidth(
      "Bandwidth TX:    12.34 MB/sec\nBandwidth RX: 24000.05 MB/sec\n");
  ASSERT_TRUE(load.ok()) << load.status();
  EXPECT_EQ(load->sent_mb_per_s_hundredths, 1234u);
  EXPECT_EQ(load->received_mb_per_s_hundredths, 2400005u);
}

TEST(ParseHccnBandwidthTest, RejectsAMissingOrMalformedHalf) {
  ExpectRejected(ParseHccnBandwidth("Bandwidth TX: 0.00 MB/sec\n"),
                 "no line \"Bandwidth RX: ...\"");
  ExpectRejected(ParseHccnBandwidth("Bandwidth RX: 0.00 MB/sec\n"
                                    "Bandwidth TX: 0.00 MB/sec\n"),
                 "expected \"Bandwidth TX: ...\"");
  for (const char* load : {"0 MB/sec", "0.0 MB/sec", "0.000 MB/sec", "0.00",
                           "0.00 KB/sec", ".00 MB/sec", "0.0x MB/sec"}) {
    ExpectRejected(ParseHccnBandwidth(std::string("Bandwidth TX: ") + load +
                                      "\nBandwidth RX: 0.00 MB/sec\n"),
                   load);
  }
}

TEST(ParseHccnShapingTest, ReadsBothForms) {
  const auto plain =
      ParseHccnShaping("bw_limit[100000 Mbps], bw_max[200000 Mbps]\n");
  ASSERT_TRUE(plain.ok()) << plain.status();
  EXPECT_EQ(plain->limit_mbps, 100000u);
  EXPECT_EQ(plain->max_mbps, 200000u);
  EXPECT_EQ(plain->current_mbps, std::nullopt);
  const auto with_current = ParseHccnShaping(
      "bw_limit[400000 Mbps], bw_max[200000 Mbps], bw_cur[200000 Mbps]\n");
  ASSERT_TRUE(with_current.ok()) << with_current.status();
  EXPECT_EQ(with_current->current_mbps, 200000u);
}

TEST(ParseHccnShapingTest, RejectsOtherForms) {
  for (const char* line :
       {"bw_limit[100000 Mbps]", "bw_limit[-1 Mbps], bw_max[200000 Mbps]",
        "bw_limit[1 Mbps], bw_max[2 Mbps], bw_cur[3 Mbps], x",
        "bw_limit[1 Mbps], bw_max[2 Mbps], bw_cur[", "bw_max[2 Mbps]",
        "bw_limit[1 Gbps], bw_max[2 Gbps]"}) {
    ExpectRejected(ParseHccnShaping(line), line);
  }
}

}  // namespace
}  // namespace clusterd
