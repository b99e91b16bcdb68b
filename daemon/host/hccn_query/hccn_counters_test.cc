#include "daemon/host/hccn_query/query_answers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/wait/telling.h"

namespace clusterd {
namespace {

using ::testing::SizeIs;

TEST(ParseHccnPacketStatisticsTest, ReadsCountersInTheToolsOrder) {
  const auto counters = ParseHccnPacketStatistics(
      "packet statistics:\nmac_tx_mac_pause_num:0\n"
      "nic_rx_all_oct_num:18446744073709551615\n");
  ASSERT_TRUE(counters.ok()) << counters.status();
  ASSERT_THAT(*counters, SizeIs(2));
  EXPECT_EQ((*counters)[0].name, "mac_tx_mac_pause_num");
  EXPECT_EQ((*counters)[0].value, 0u);
  EXPECT_EQ((*counters)[1].name, "nic_rx_all_oct_num");
  EXPECT_EQ((*counters)[1].value, ~uint64_t{0});
}

TEST(ParseHccnPacketStatisticsTest, RejectsWhatIsNoCounter) {
  ExpectRejected(ParseHccnPacketStatistics("packet statistics:\n"),
                 "expected counters");
  ExpectRejected(ParseHccnPacketStatistics("mac_tx_mac_pause_num:0\n"),
                 "\"packet statistics:\"");
  ExpectRejected(
      ParseHccnPacketStatistics("packet statistics:\nmac_tx_pause:-1\n"),
      "mac_tx_pause:-1");
  ExpectRejected(ParseHccnPacketStatistics("packet statistics:\nMac tx:1\n"),
                 "Mac tx:1");
  ExpectRejected(ParseHccnPacketStatistics("packet statistics:\na:1\na:2\n"),
                 "each name once");
  ExpectRejected(ParseHccnPacketStatistics("packet statistics:\n...\n"),
                 "\"...\"");
}

}  // namespace
}  // namespace clusterd
