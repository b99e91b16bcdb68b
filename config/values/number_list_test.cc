#include "config/values/number_list.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace clusterd {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// "first-last/step:width" per range, or the message.
std::string Parsed(absl::string_view text) {
  const absl::StatusOr<std::vector<NumberRange>> ranges = ParseNumberList(text);
  if (!ranges.ok()) {
    EXPECT_EQ(ranges.status().code(), absl::StatusCode::kInvalidArgument);
    return std::string(ranges.status().message());
  }
  std::string out;
  for (const NumberRange& range : *ranges) {
    out += std::to_string(range.first) + "-" + std::to_string(range.last) +
           "/" + std::to_string(range.step) + ":" +
           std::to_string(range.width) + " ";
  }
  return out;
}

TEST(ParseNumberListTest, ReadsNumbersRangesAndSteps) {
  EXPECT_EQ(Parsed("7"), "7-7/1:0 ");
  EXPECT_EQ(Parsed("1-3,7,0-30/2"), "1-3/1:0 7-7/1:0 0-30/2:0 ");
  EXPECT_EQ(Parsed("0"), "0-0/1:0 ");
}

TEST(ParseNumberListTest, KeepsPadding) {
  EXPECT_EQ(Parsed("01-12"), "1-12/1:2 ");
  EXPECT_EQ(Parsed("007"), "7-7/1:3 ");
  EXPECT_EQ(Parsed("00-02"), "0-2/1:2 ");
  EXPECT_EQ(Parsed("08-112"), "8-112/1:2 ");
}

TEST(ParseNumberListTest, RefusesEndsThatArePaddedDifferently) {
  EXPECT_THAT(Parsed("8-012"), HasSubstr("\"8-012\" pads its ends"));
  EXPECT_THAT(Parsed("008-12"), HasSubstr("pads its ends differently"));
  EXPECT_THAT(Parsed("01-002"), HasSubstr("pads its ends differently"));
}

TEST(ParseNumberListTest, RefusesBackwardsRangesAndZeroSteps) {
  EXPECT_EQ(Parsed("9-3"), "\"9-3\" runs backwards, expected 3-9");
  EXPECT_THAT(Parsed("0-9/0"), HasSubstr("step of 0"));
}

TEST(ParseNumberListTest, RefusesWhatIsNoNumber) {
  for (absl::string_view text :
       {"", ",", "1,", "a", "1-", "-1", "1-2-3", " 1", "+1", "1/2", "0-9/",
        "0-9/x", "1234567890123456789", "0x1"}) {
    EXPECT_THAT(Parsed(text), HasSubstr("is not a number or range")) << text;
  }
}

TEST(NumberRangeTest, CountsWithSteps) {
  EXPECT_EQ((NumberRange{0, 9, 3, 0}).size(), 4u);
  EXPECT_EQ((NumberRange{0, 999999999999999999u, 1, 0}).size(),
            1000000000000000000u);
}

TEST(PadNumberTest, PadsButNeverCuts) {
  EXPECT_EQ(PadNumber(7, 3), "007");
  EXPECT_EQ(PadNumber(1234, 3), "1234");
  EXPECT_EQ(PadNumber(0, 0), "0");
}

TEST(ParseIdListTest, SortsIds) {
  EXPECT_THAT(*ParseIdList("8,0-3", 15), ElementsAre(0, 1, 2, 3, 8));
  EXPECT_THAT(*ParseIdList("0-6/2", 15), ElementsAre(0, 2, 4, 6));
}

TEST(ParseIdListTest, RefusesLargeAndRepeatedIds) {
  EXPECT_THAT(std::string(ParseIdList("0-16", 15).status().message()),
              HasSubstr("\"16\" is too large, expected 0-15"));
  EXPECT_THAT(std::string(ParseIdList("0-3,2", 15).status().message()),
              HasSubstr("has id 2 twice"));
  EXPECT_THAT(std::string(ParseIdList("0-15,0-15", 15).status().message()),
              HasSubstr("has an id twice"));
  EXPECT_THAT(std::string(ParseIdList("x", 15).status().message()),
              HasSubstr("\"x\" is not a number"));
}

TEST(FoldIdsTest, FoldsRuns) {
  EXPECT_EQ(FoldIds({}), "none");
  EXPECT_EQ(FoldIds({3}), "3");
  EXPECT_EQ(FoldIds({0, 1}), "0-1");
  EXPECT_EQ(FoldIds({0, 1, 2, 3, 7, 9, 10}), "0-3,7,9-10");
}

}  // namespace
}  // namespace clusterd
