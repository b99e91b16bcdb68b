#include "daemon/host/npu_series.h"

#include "gtest/gtest.h"

namespace clusterd {
namespace {

TEST(NpuSeriesOfTest, KnowsTheTrainingSeries) {
  EXPECT_EQ(NpuSeriesOf("0x19e5\n", "0xd801\n"), "A1");
  EXPECT_EQ(NpuSeriesOf("0x19e5", "0xd802"), "A2");
  EXPECT_EQ(NpuSeriesOf("0x19E5", "0xD803"), "A3");
}

TEST(NpuSeriesOfTest, DoesNotCountOtherDevices) {
  EXPECT_EQ(NpuSeriesOf("0x19e5", "0xa250"), "");
  EXPECT_EQ(NpuSeriesOf("0x8086", "0xd802"), "");
  EXPECT_EQ(NpuSeriesOf("", ""), "");
}

TEST(CountNpuSeriesTest, PutsTheMostFrequentFirst) {
  EXPECT_EQ(CountNpuSeries({"A2", "A2", "A2"}), "A2 x 3");
  EXPECT_EQ(CountNpuSeries({"A1", "A3", "A3"}), "A3 x 2, A1 x 1");
  EXPECT_EQ(CountNpuSeries({}), "");
}

}  // namespace
}  // namespace clusterd
