#include "config/spec/mistakes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace clusterd {
namespace {

using ::testing::EndsWith;

TEST(MistakesTest, NoMistakeIsOk) {
  const Mistakes mistakes("a.yaml");
  EXPECT_TRUE(mistakes.empty());
  EXPECT_TRUE(mistakes.ToStatus().ok());
}

TEST(MistakesTest, ComeOutInTheOrderOfTheFile) {
  Mistakes mistakes("a.yaml");
  mistakes.Add({10, 2}, "third");
  mistakes.Add({9, 7}, "second");
  mistakes.Add({9, 3}, "first");
  mistakes.Add({10, 2}, "fourth");
  const absl::Status status = mistakes.ToStatus();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(std::string(status.message()),
            "a.yaml:9:3: first\na.yaml:9:7: second\n"
            "a.yaml:10:2: third\na.yaml:10:2: fourth");
}

TEST(MistakesTest, CountsWhatItDoesNotShow) {
  Mistakes mistakes("a.yaml");
  for (int i = 5000; i > 0; --i) mistakes.Add({i, 1}, "wrong");
  EXPECT_EQ(mistakes.count(), 5000u);
  const std::string text(mistakes.ToStatus().message());
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 100);
  EXPECT_THAT(text, EndsWith("\na.yaml: 4900 more mistakes"));
}

TEST(MistakesTest, FoldsWhatOneLineDoesManyTimes) {
  Mistakes mistakes("a.yaml");
  for (int n = 0; n < 1152; ++n) {
    mistakes.AddOnce({3, 5}, "reserved", absl::StrCat("server ", n));
  }
  mistakes.AddOnce({3, 5}, "twice", "another kind");
  mistakes.AddOnce({4, 5}, "reserved", "another place");
  EXPECT_EQ(mistakes.count(), 3u);
  EXPECT_EQ(std::string(mistakes.ToStatus().message()),
            "a.yaml:3:5: server 0 (and 1151 more like it)\n"
            "a.yaml:3:5: another kind\n"
            "a.yaml:4:5: another place");
}

TEST(QuoteValueTest, EscapesWhatATerminalWouldObey) {
  EXPECT_EQ(QuoteValue("10.20.0.300"), "\"10.20.0.300\"");
  EXPECT_EQ(QuoteValue("a\x1b[2J\n"), "\"a\\033[2J\\n\"");
  EXPECT_EQ(QuoteValue("服务器"), "\"服务器\"");
  EXPECT_EQ(QuoteValue(""), "\"\"");
}

TEST(QuoteValueTest, CutsLongTextBetweenCharacters) {
  EXPECT_EQ(QuoteValue(std::string(80, 'a')),
            absl::StrCat("\"", std::string(80, 'a'), "\""));
  EXPECT_EQ(QuoteValue(std::string(81, 'a')),
            absl::StrCat("\"", std::string(80, 'a'), "…\""));
  // Three bytes each: 26 fit into 80 bytes.
  std::string text;
  for (int i = 0; i < 40; ++i) text += "器";
  EXPECT_EQ(QuoteValue(text),
            absl::StrCat("\"", text.substr(0, 26 * 3), "…\""));
}

}  // namespace
}  // namespace clusterd
