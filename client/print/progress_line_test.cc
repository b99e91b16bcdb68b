#include "client/print/progress_line.h"

#include <sstream>

#include "absl/strings/str_cat.h"
#include "config/words/words.h"
#include "gtest/gtest.h"
#include "tests/support/wait/from_text.h"

namespace clusterd {
namespace {

CheckProgress Progress() {
  auto progress =
      FromText<CheckProgress>(R"(answered: 1000 failed: 2 pending: 150)");
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

TEST(ProgressTextTest, CountsAnswersNotVerdictsAndNamesTheHostsStillAwaited) {
  EXPECT_EQ(ProgressText(Progress(), true),
            absl::StrCat(Say("now-progress", 1000, 2, 150), "; awaiting ",
                         Say("first-of", "node[3-5]", 147)));
  CheckProgress none_awaited;
  none_awaited.set_answered(2);
  EXPECT_EQ(ProgressText(none_awaited, true), Say("now-progress", 2, 0, 0));
  CheckProgress queued;
  queued.set_pending(16);
  queued.set_place(3);
  EXPECT_EQ(ProgressText(queued, true), Say("now-queue-place", 3));
}

TEST(ProgressTextTest, IsSafeForATerminal) {
  CheckProgress progress = Progress();
  progress.set_awaited(0, "\x1b[2J");
  EXPECT_EQ(ProgressText(progress, true).find('\x1b'), std::string::npos);
}

TEST(ApplyProgressTextTest, SaysWhichWaveIsAtWork) {
  auto progress =
      FromText<ApplyProgress>(R"(wave: 2 waves: 5 done: 40 pending: 120)");
  EXPECT_EQ(ApplyProgressText(progress, true),
            Say("apply-progress", 2, 5, 40, 0, 120));
  for (const char* host : {"node3", "node4", "\x1b[2J"}) {
    progress.add_at_work(host);
  }
  EXPECT_EQ(ApplyProgressText(progress, true),
            absl::StrCat(Say("apply-progress", 2, 5, 40, 0, 120),
                         "; at work node[3-4],\\x1b[2J"));
}

TEST(ProgressTextTest, SpeaksChinese) {
  const InLanguage chinese(Language::kChinese);
  EXPECT_EQ(ProgressText(Progress(), true),
            "1000 已应答，2 失败，150 待应答；等待 node[3-5] 等，另有 147 个");
  auto apply = FromText<ApplyProgress>("wave: 2 waves: 5 at_work: 'node3'");
  EXPECT_EQ(ApplyProgressText(apply, true),
            "第 2 批（共 5 批）：0 完成，0 失败，0 待执行；正在执行 node3");
}

TEST(ProgressLineTest, RewritesOneLineAndLeavesItEmpty) {
  std::ostringstream out;
  {
    ProgressLine line(Window(120), out);
    line.Show(ProgressText(Progress(), false));
  }
  EXPECT_EQ(out.str(), absl::StrCat("\r\x1b[K", ProgressText(Progress(), false),
                                    "\r\x1b[K"));
  std::ostringstream no_terminal;
  ProgressLine(Style(), no_terminal).Show(ProgressText(Progress(), false));
  EXPECT_EQ(no_terminal.str(), "");
}

TEST(ProgressLineTest, NeverTakesMoreThanOneLine) {
  std::ostringstream out;
  ProgressLine line(Window(30), out);
  line.Show(ProgressText(Progress(), false));
  EXPECT_EQ(out.str(), "\r\x1b[K1000 answered, 2 failed, 1...");
}

}  // namespace
}  // namespace clusterd
