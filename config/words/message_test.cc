#include "config/words/message.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace clusterd {
namespace {

TEST(MessageTest, IsEnglishInTheStatusAndInTheUsersLanguageOnTheScreen) {
  const InLanguage chinese(Language::kChinese);
  const absl::Status error =
      WordedError<absl::NotFoundError>("count-device", 3);
  EXPECT_EQ(error.code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(error.message(), "3 devices");
  EXPECT_EQ(ValueText(MessageWords(error)), Say("count-device", 3));
  EXPECT_NE(ValueText(MessageWords(error)), "3 devices");
}

TEST(MessageTest, WithoutWordsIsItsText) {
  const absl::Status error = absl::InternalError("a\nb");
  EXPECT_EQ(MessageWords(error).text(), "a\nb");
  ASSERT_EQ(MessageLines(error).size(), 2u);
  EXPECT_EQ(MessageLines(error)[1].text(), "b");
}

TEST(MessageTest, LinesStayApart) {
  const FindingValue lines =
      Lines({Worded("count-device", 1), ToFindingValue("b")});
  const absl::Status error = WithWords(absl::InternalError(""), lines);
  EXPECT_EQ(error.message(), "1 device\nb");
  EXPECT_EQ(MessageLines(error).size(), 2u);
}

}  // namespace
}  // namespace clusterd
