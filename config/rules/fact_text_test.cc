#include "config/rules/fact_text.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace clusterd {
namespace {

using ::testing::HasSubstr;

Missing MakeMissing(Missing::Reason reason, const std::string& detail) {
  Missing missing;
  missing.set_reason(reason);
  missing.set_detail(detail);
  return missing;
}

TEST(WhyMissingTest, GivesReasonAndDetail) {
  const Missing slow = MakeMissing(Missing::TIMED_OUT, "no answer in 10s");
  EXPECT_EQ(WhyMissing(&slow), "timed out: no answer in 10s");
  const Missing absent = MakeMissing(Missing::ABSENT, "");
  EXPECT_EQ(WhyMissing(&absent), "does not exist");
}

TEST(WhyMissingTest, SaysThatAFactWasNotAskedFor) {
  EXPECT_EQ(WhyMissing(nullptr), "not asked for");
  EXPECT_EQ(WhyUnknown(TextFact()), "not asked for");
}

TEST(WhyMissingTest, HasWordsAndAdviceOfItsOwnForEveryReason) {
  std::string seen;
  for (int reason = Missing::Reason_MIN; reason <= Missing::Reason_MAX;
       ++reason) {
    const Missing missing =
        MakeMissing(static_cast<Missing::Reason>(reason), "");
    EXPECT_THAT(seen, testing::Not(HasSubstr(WhyMissing(&missing) + ";")));
    seen += WhyMissing(&missing) + ";";
    EXPECT_THAT(seen, testing::Not(HasSubstr(HowToLearn(&missing) + ";")));
    seen += HowToLearn(&missing) + ";";
  }
}

TEST(HowToLearnTest, PointsToTheLogOfHccnToolForHccnToolAlone) {
  const Missing tool = MakeMissing(
      Missing::TOOL_FAILED, "`hccn_tool -i 3 -link -g`: status 1 and \"\"");
  EXPECT_THAT(HowToLearn(&tool), HasSubstr("/var/log/hccn_tool/"));
  const Missing engine = MakeMissing(
      Missing::TOOL_FAILED,
      "container \"train-1\": `docker inspect train-1`: status 1 and \"\"");
  EXPECT_THAT(HowToLearn(&engine), testing::Not(HasSubstr("hccn_tool")));
  EXPECT_THAT(HowToLearn(&engine), HasSubstr("by hand"));
}

TEST(HowToLearnTest, BlamesNoPermissionForWhatWasNotAsked) {
  const Missing missing = MakeMissing(
      Missing::NOT_QUERIED, "an apply or rollback was running on this host");
  EXPECT_THAT(HowToLearn(&missing), testing::Not(HasSubstr("permission")));
}

TEST(WhyUnknownTest, CallsAValueOfNoUseNotUnderstood) {
  TextFact fact;
  fact.set_value("?");
  EXPECT_EQ(WhyUnknown(fact), "not understood");
}

TEST(PrintableTest, RemovesWhatATerminalObeys) {
  EXPECT_EQ(Printable("a\x1b[31mb\nc\x7f"), "a [31mb c ");
  EXPECT_EQ(Printable("a\xc2\x9b"
                      "31mb"),
            "a 31mb");
  EXPECT_EQ(Printable("Gerät 3"), "Gerät 3");
}

TEST(PrintableTest, CutsBetweenCharacters) {
  std::string text;
  for (int i = 0; i < 100; ++i) text += "ä";
  const std::string shown = Printable(text);
  EXPECT_EQ(shown.size(), 160 + std::string("…").size());
  EXPECT_THAT(shown, HasSubstr("ä…"));
}

TEST(PrintableTest, EndsEvenWithoutACharacterToCutAt) {
  EXPECT_LE(Printable(std::string(1000, '\x80')).size(), 170u);
}

TEST(ShellQuotedTest, KeepsHostileTextOneWord) {
  EXPECT_EQ(ShellQuoted("/etc/a b"), "'/etc/a b'");
  EXPECT_EQ(ShellQuoted("x'; rm -rf /"), "'x'\\''; rm -rf /'");
  EXPECT_EQ(ShellQuoted("a\nb"), "'ab'");
}

TEST(FoldIdsTest, FoldsRangesOfThreeAndMore) {
  EXPECT_EQ(FoldIds({}), "none");
  EXPECT_EQ(FoldIds({3}), "3");
  EXPECT_EQ(FoldIds({0, 1}), "0,1");
  EXPECT_EQ(FoldIds({0, 1, 2, 3, 7, 9, 10}), "0-3,7,9,10");
}

TEST(CountTest, AddsThePluralS) {
  EXPECT_EQ(Count(1, "device"), "1 device");
  EXPECT_EQ(Count(0, "device"), "0 devices");
  EXPECT_EQ(Count(16, "device"), "16 devices");
}

}  // namespace
}  // namespace clusterd
