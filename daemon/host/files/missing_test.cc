#include <string>

#include "config/words/fact_text.h"
#include "config/words/message.h"
#include "daemon/host/files/file_reader.h"
#include "gtest/gtest.h"

namespace clusterd {
namespace {

TEST(MissingForTest, TurnsCodesIntoReasons) {
  EXPECT_EQ(MissingFor(absl::NotFoundError("x")).reason(), Missing::ABSENT);
  EXPECT_EQ(MissingFor(absl::PermissionDeniedError("x")).reason(),
            Missing::NOT_PERMITTED);
  EXPECT_EQ(MissingFor(absl::DeadlineExceededError("x")).reason(),
            Missing::TIMED_OUT);
  EXPECT_EQ(MissingFor(absl::UnavailableError("x")).reason(),
            Missing::TOOL_FAILED);
  EXPECT_EQ(MissingFor(absl::UnimplementedError("x")).reason(),
            Missing::NOT_SUPPORTED);
  EXPECT_EQ(MissingFor(absl::CancelledError("x")).reason(),
            Missing::NOT_QUERIED);
  EXPECT_EQ(MissingFor(absl::InvalidArgumentError("x")).reason(),
            Missing::UNREADABLE);
  EXPECT_EQ(MissingFor(absl::ResourceExhaustedError("x")).reason(),
            Missing::UNREADABLE);
}

TEST(MissingForTest, KeepsTheMessage) {
  EXPECT_EQ(MissingFor(absl::NotFoundError("/etc/hccn.conf: gone")).detail(),
            "/etc/hccn.conf: gone");
}

TEST(MakeMissingTest, MakesTheDetailPrintableAndShort) {
  const Missing missing =
      MakeMissing(Missing::BUSY, "\xff\n" + std::string(1000, 'x'));
  EXPECT_EQ(missing.detail().substr(0, 6), "\\xff\\n");
  EXPECT_LT(missing.detail().size(), 520u);
}

TEST(MissingForTest, KeepsTheWordsOfAnErrorBesideTheText) {
  const absl::Status error =
      UnavailableWords("about", "npu-smi", ToFindingValue("no answer"));
  const Missing missing = MissingFor(error);
  EXPECT_EQ(missing.detail(), "npu-smi: no answer");
  EXPECT_EQ(missing.detail_words().words(), "about");
  EXPECT_FALSE(MissingFor(absl::UnavailableError("x")).has_detail_words());
}

TEST(MakeMissingTest, KeepsWordsForAnotherLanguageAndMakesThemPrintable) {
  const Missing missing =
      MakeMissing(Missing::NOT_SUPPORTED, Worded("fact-ufw-no-zones"));
  EXPECT_EQ(WhyMissing(missing), "not supported: ufw has no zones");
  const Missing hostile =
      MakeMissing(Missing::UNREADABLE, Worded("fact-no-file", "\xff\n"));
  EXPECT_EQ(hostile.detail(), "\\xff\\n: not a regular file");
  EXPECT_EQ(hostile.detail_words().values(0).text(), "\\xff\\n");
  const InLanguage chinese(Language::kChinese);
  EXPECT_EQ(WhyMissing(missing), "不支持：ufw 没有区域");
}

TEST(MakeMissingTest, CountsTheTimesInWords) {
  const FindingValue busy = ToFindingValue("`hccn_tool -i 3 -link -g`: busy");
  EXPECT_EQ(EnglishText(Worded("fact-asked-times", 1, busy)),
            "`hccn_tool -i 3 -link -g`: busy, asked 1 time");
  EXPECT_EQ(EnglishText(Worded("fact-asked-times", 3, busy)),
            "`hccn_tool -i 3 -link -g`: busy, asked 3 times");
}

TEST(SetMissingTest, ReplacesAValue) {
  NumberFact fact;
  fact.set_value(1);
  SetMissing(MakeMissing(Missing::ABSENT, "x"), &fact);
  EXPECT_FALSE(fact.has_value());
  EXPECT_EQ(fact.missing().reason(), Missing::ABSENT);
}

}  // namespace
}  // namespace clusterd
