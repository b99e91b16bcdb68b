#include "client/print/progress_line.h"

#include <sstream>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

namespace clusterd {
namespace {

CheckProgress Progress() {
  CheckProgress progress;
  progress.set_answered(1000);
  progress.set_failed(2);
  progress.set_pending(150);
  for (const char* host : {"node3", "node4", "node5"})
    progress.add_awaited(host);
  return progress;
}

Style Window(int width) {
  Style style;
  style.rewrites = true;
  style.width = width;
  return style;
}

TEST(ProgressTextTest, CountsAndNamesTheHostsStillAwaited) {
  EXPECT_EQ(ProgressText(Progress(), true),
            "1000 ok, 2 failed, 150 pending; awaiting node[3-5] and 147 more");
}

TEST(ProgressTextTest, SaysNothingOfAwaitedHostsWhenThereAreNone) {
  CheckProgress progress;
  progress.set_answered(2);
  EXPECT_EQ(ProgressText(progress, true), "2 ok, 0 failed, 0 pending");
}

TEST(ProgressTextTest, IsSafeForATerminal) {
  CheckProgress progress = Progress();
  progress.set_awaited(0, "\x1b[2J");
  EXPECT_EQ(ProgressText(progress, true).find('\x1b'), std::string::npos);
}

TEST(ProgressLineTest, RewritesOneLineAndLeavesItEmpty) {
  std::ostringstream out;
  {
    ProgressLine line(Window(120), out);
    line.Show(Progress());
  }
  EXPECT_EQ(out.str(), absl::StrCat("\r\x1b[K", ProgressText(Progress(), false),
                                    "\r\x1b[K"));
}

TEST(ProgressLineTest, NeverTakesMoreThanOneLine) {
  std::ostringstream out;
  ProgressLine line(Window(30), out);
  line.Show(Progress());
  EXPECT_EQ(out.str(), "\r\x1b[K1000 ok, 2 failed, 150 pen...");
}

TEST(ProgressLineTest, PrintsNothingWhereNoLineCanBeRewritten) {
  std::ostringstream out;
  {
    ProgressLine line(Style(), out);
    line.Show(Progress());
  }
  EXPECT_EQ(out.str(), "");
}

}  // namespace
}  // namespace clusterd
