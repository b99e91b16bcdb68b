#include "config/words/number_text.h"

#include "gtest/gtest.h"

namespace clusterd {
namespace {

TEST(CountTest, AddsThePluralS) {
  EXPECT_EQ(Count(0, "device"), "0 devices");
  EXPECT_EQ(Count(1, "device"), "1 device");
  EXPECT_EQ(Count(16, "device"), "16 devices");
}

TEST(DurationTextTest, ChoosesOneUnitAndCallsANegativeDurationNothing) {
  EXPECT_EQ(DurationText(absl::Milliseconds(5)), "5 ms");
  EXPECT_EQ(DurationText(absl::Milliseconds(850)), "0.8 s");
  EXPECT_EQ(DurationText(absl::Milliseconds(1312)), "1.3 s");
  EXPECT_EQ(DurationText(absl::Seconds(31)), "31 s");
  EXPECT_EQ(DurationText(absl::Minutes(3)), "3 min");
  EXPECT_EQ(DurationText(absl::Hours(5)), "5 h");
  EXPECT_EQ(DurationText(absl::Hours(24 * 9)), "9 days");
  EXPECT_EQ(DurationText(-absl::Seconds(3)), "0 s");
}

TEST(ElapsedTextTest, TakesMilliseconds) {
  EXPECT_EQ(ElapsedText(1312), "1.3 s");
}

TEST(AgeTextTest, TellsNeverFromLongAgo) {
  const absl::Time now = absl::FromUnixSeconds(1000);
  EXPECT_EQ(AgeText(0, now), "never");
  EXPECT_EQ(AgeText(970'000, now), "30 s");
}

TEST(PartTest, IsEmptyWhereThereIsNothingToTell) {
  EXPECT_EQ(Part("by ", "ann"), "by ann");
  EXPECT_EQ(Part("by ", ""), "");
  EXPECT_EQ(Part(2, "drifted"), "2 drifted");
  EXPECT_EQ(Part(0, "drifted"), "");
}

TEST(JoinPartsTest, LeavesOutWhatIsEmpty) {
  EXPECT_EQ(JoinParts(", ", {"", "a", "", "b"}), "a, b");
  EXPECT_EQ(JoinParts(", ", {"", ""}), "");
}

TEST(FirstOfTest, SaysHowManyItLeavesOut) {
  EXPECT_EQ(FirstOf({"a"}, 2), "a");
  EXPECT_EQ(FirstOf({"a", "b"}, 2), "a, b");
  EXPECT_EQ(FirstOf({"a", "b", "c"}, 2), "a, b and 1 more");
}

}  // namespace
}  // namespace clusterd
