#include "config/words/message.h"

#include <fstream>
#include <iterator>

#include "gmock/gmock.h"
#include "proto/plan.pb.h"

namespace clusterd {
namespace {

TEST(MessageTest, IsEnglishInTheStatusAndInTheUsersLanguageOnTheScreen) {
  const InLanguage chinese(Language::kChinese);
  const absl::Status error = NotFoundWords("count-device", 3);
  EXPECT_EQ(error.code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(error.message(), "3 devices");
  EXPECT_EQ(ValueText(MessageWords(error)), Say("count-device", 3));
  EXPECT_NE(ValueText(MessageWords(error)), "3 devices");
}

TEST(MessageTest, WithoutWordsIsItsText) {
  const absl::Status error = absl::InternalError("a\nb");
  EXPECT_EQ(MessageWords(error).text(), "a\nb");
  ASSERT_EQ(MessageLines(error).size(), 2u);
  EXPECT_TRUE(MessageLines(absl::OkStatus()).empty());
  EXPECT_EQ(MessageLines(error)[1].text(), "b");
}

TEST(MessageTest, LinesStayApart) {
  const FindingValue lines =
      Lines({Worded("count-device", 1), ToFindingValue("b")});
  const absl::Status error = WithWords(absl::InternalError(""), lines);
  EXPECT_EQ(error.message(), "1 device\nb");
  EXPECT_EQ(MessageLines(error).size(), 2u);
}

// The page of all messages, which .ci/documents links.
TEST(MessageTest, PageIsWhatTheRowsAre) {
  const auto read = [](const std::string& path) {
    std::ifstream file(path);
    return std::string(std::istreambuf_iterator<char>(file),
                       std::istreambuf_iterator<char>());
  };
  const std::string made = read("config/rules/texts/messages.md");
  ASSERT_FALSE(made.empty());
  constexpr char kHow[] =
      "config/words/README.md is not what the rows are, write it again:\n"
      "  bazel build //config/rules/texts:messages\n"
      "  cp bazel-bin/config/rules/texts/messages.md config/words/README.md";
  EXPECT_TRUE(made == read("config/words/README.md")) << kHow;
}

TEST(RenderWordsTest, FillsInTextsInTheCurrentLanguage) {
  ApplyReport report;
  *report.mutable_notes_words()->add_values() = Worded("hub-controller-ended");
  *report.add_hosts()->mutable_error_words() =
      Worded("hub-cancelled-after-wave", "bob", 2);
  report = Rendered(report);
  report.add_notes("of another");
  EXPECT_EQ(report.notes(0), Say("hub-controller-ended"));
  EXPECT_EQ(report.hosts(0).error(), Say("hub-cancelled-after-wave", "bob", 2));
  const InLanguage chinese(Language::kChinese);
  RenderWords(&report, /*drop=*/true);
  ASSERT_EQ(report.notes_size(), 2);
  EXPECT_EQ(report.notes(0), "运行期间控制器已结束");
  EXPECT_EQ(report.notes(1), "of another");
  EXPECT_EQ(report.hosts(0).error(), "bob 在第 2 批之后取消");
  EXPECT_FALSE(report.has_notes_words());
}

}  // namespace
}  // namespace clusterd
