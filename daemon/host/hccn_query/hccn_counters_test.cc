#include "daemon/host/hccn_query/query_answers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace clusterd {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;

template <typename T>
void ExpectRejected(const absl::StatusOr<T>& parsed, const std::string& said) {
  EXPECT_EQ(parsed.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(parsed.status().message()), HasSubstr(said));
}

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

TEST(ParseHccnHardwareStatisticsTest, ReadsTheDevicesOwnLines) {
  const auto counters = ParseHccnHardwareStatistics(
      "[devid 3] pd_alloc: 1\n[devid 3] qp_active: 7\n", 3);
  ASSERT_TRUE(counters.ok()) << counters.status();
  ASSERT_THAT(*counters, SizeIs(2));
  EXPECT_EQ((*counters)[0].name, "pd_alloc");
  EXPECT_EQ((*counters)[0].value, 1u);
  EXPECT_EQ((*counters)[1].name, "qp_active");
  EXPECT_EQ((*counters)[1].value, 7u);
}

TEST(ParseHccnHardwareStatisticsTest, TakesBothSpellingsOfTheDevice) {
  const auto counters =
      ParseHccnHardwareStatistics("[devid 15]link: 1\n[device 15] pd: 1\n", 15);
  ASSERT_TRUE(counters.ok()) << counters.status();
  EXPECT_THAT(*counters, SizeIs(2));
}

TEST(ParseHccnHardwareStatisticsTest, RejectsAnotherDevicesLine) {
  ExpectRejected(ParseHccnHardwareStatistics(
                     "[devid 3] pd_alloc: 1\n[devid 4] qp_active: 7\n", 3),
                 "unexpected \"[devid 4] qp_active: 7\", expected \"[devid "
                 "3]...\"");
  ExpectRejected(ParseHccnHardwareStatistics("[devid 30] pd_alloc: 1\n", 3),
                 "devid 30");
  ExpectRejected(ParseHccnHardwareStatistics("", 3), "expected counters");
}

}  // namespace
}  // namespace clusterd
