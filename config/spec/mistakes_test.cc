#include "config/spec/mistakes.h"

#include <gmock/gmock.h>

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
  EXPECT_THAT(text, EndsWith(Say("more-mistakes", "a.yaml", 4900)));
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

}  // namespace
}  // namespace clusterd
