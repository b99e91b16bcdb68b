#include "config/words/terminal.h"

#include <sstream>

#include "gtest/gtest.h"

namespace clusterd {
namespace {

constexpr auto kOut = &Terminal::out_is_terminal;
constexpr auto kErr = &Terminal::err_is_terminal;
const Terminal kWindow = {/*out_is_terminal=*/true, /*err_is_terminal=*/true,
                          100};
const Terminal kPipe = {/*out_is_terminal=*/false, /*err_is_terminal=*/false,
                        100};

TEST(StyleTest, UsesColourAndWidthOnATerminalOnly) {
  const Style window = StyleOf(kOut, kWindow, {}, ColorMode::kAuto);
  EXPECT_TRUE(window.color);
  EXPECT_TRUE(window.rewrites);
  EXPECT_EQ(window.width, 100);
  const Style pipe = StyleOf(kOut, kPipe, {}, ColorMode::kAuto);
  EXPECT_FALSE(pipe.color);
  EXPECT_FALSE(pipe.rewrites);
  EXPECT_EQ(pipe.width, 0);
}

TEST(StyleTest, JudgesStdoutAndStderrApartAndObeysNoColorAndDumbTerminals) {
  const Terminal out_only = {/*out_is_terminal=*/true,
                             /*err_is_terminal=*/false, 80};
  EXPECT_TRUE(StyleOf(kOut, out_only, {}, ColorMode::kAuto).color);
  EXPECT_FALSE(StyleOf(kErr, out_only, {}, ColorMode::kAuto).color);
  EXPECT_FALSE(StyleOf(kErr, out_only, {}, ColorMode::kAuto).rewrites);
  EXPECT_FALSE(
      StyleOf(kOut, kWindow, {{"NO_COLOR", "1"}}, ColorMode::kAuto).color);
  EXPECT_TRUE(
      StyleOf(kOut, kWindow, {{"NO_COLOR", ""}}, ColorMode::kAuto).color);
  const Style dumb =
      StyleOf(kErr, kWindow, {{"TERM", "dumb"}}, ColorMode::kAuto);
  EXPECT_FALSE(dumb.color);
  EXPECT_FALSE(dumb.rewrites);
  // Colour asked for wins over the environment.
  EXPECT_TRUE(
      StyleOf(kOut, kPipe, {{"NO_COLOR", "1"}}, ColorMode::kAlways).color);
  EXPECT_FALSE(StyleOf(kOut, kWindow, {}, ColorMode::kNever).color);
  // Takes UTF-8 from the first locale variable that is set.
  const auto utf8 = [](const Environment& environment) {
    return StyleOf(kOut, kPipe, environment, ColorMode::kAuto).utf8;
  };
  EXPECT_FALSE(utf8({}));
  EXPECT_TRUE(utf8({{"LANG", "zh_CN.UTF-8"}}));
  EXPECT_TRUE(utf8({{"LC_CTYPE", "C.utf8"}}));
  EXPECT_FALSE(utf8({{"LC_ALL", "C"}, {"LANG", "en_US.UTF-8"}}));
  EXPECT_TRUE(utf8({{"LC_ALL", ""}, {"LANG", "en_US.UTF-8"}}));
  EXPECT_FALSE(utf8({{"LANG", "zh_CN.GB18030"}}));
}

TEST(LanguageTest, IsTheFirstThatIsSetAndNeedsUtf8) {
  const auto is_chinese = [](const Environment& environment) {
    return LanguageOf(environment) == Language::kChinese;
  };
  EXPECT_FALSE(is_chinese({}));
  EXPECT_TRUE(is_chinese({{"LANG", "zh_CN.UTF-8"}}));
  EXPECT_TRUE(is_chinese({{"LANG", "C.UTF-8"}, {"CLUSTERD_LANG", "zh"}}));
  EXPECT_FALSE(is_chinese({{"LANG", "zh_CN.UTF-8"}, {"CLUSTERD_LANG", "en"}}));
  EXPECT_FALSE(is_chinese({{"LANG", "zh_CN.UTF-8"}, {"LC_ALL", "C.UTF-8"}}));
  EXPECT_TRUE(is_chinese({{"LANG", "C.UTF-8"}, {"LC_MESSAGES", "zh_CN"}}));
  EXPECT_FALSE(is_chinese({{"LANG", "zh_CN.GB18030"}}));
  EXPECT_FALSE(is_chinese({{"CLUSTERD_LANG", "zh"}}));
  EXPECT_FALSE(is_chinese({{"LANG", "de_DE.UTF-8"}}));
}

TEST(PaintedTest, LeavesTextAloneWithoutColour) {
  Style style;
  EXPECT_EQ(Painted(style, Paint::kRed, "fail"), "fail");
  style.color = true;
  EXPECT_EQ(Painted(style, Paint::kRed, "fail"), "\x1b[31mfail\x1b[0m");
  EXPECT_EQ(Painted(style, Paint::kNone, "fail"), "fail");
}

using Lines = std::vector<std::string>;

TEST(CutTextTest, MarksWhatWasCut) {
  EXPECT_EQ(CutText("abcdef", 6, true), "abcdef");
  EXPECT_EQ(CutText("abcdefg", 6, true), "abcde…");
  EXPECT_EQ(CutText("abcdefg", 6, false), "abc...");
  EXPECT_EQ(CutText("éééééé", 4, true), "ééé…");
}

TEST(PaddedTest, CountsCharactersAndNotBytes) {
  EXPECT_EQ(Padded("é", 3), "é  ");
  EXPECT_EQ(Padded("abcd", 3), "abcd");
}

TEST(TextColumnsTest, CountsTwoForADoubleWidthCharacter) {
  EXPECT_EQ(TextColumns("fail"), 4);
  EXPECT_EQ(TextColumns("× 不通过"), 8);
  EXPECT_EQ(TextColumns("，"), 2);
  EXPECT_EQ(TextColumns("e\u0301"), 1) << "an accent of its own";
  EXPECT_EQ(TextColumns("a\xff\xfe"), 3) << "bytes that are not UTF-8";
  EXPECT_EQ(Padded("通过", 7), "通过   ");
  EXPECT_EQ(CutText("设备网络未配置", 8, true), "设备网…");
}

TEST(WrapTextTest, BreaksBetweenChineseCharactersAndKeepsPunctuation) {
  EXPECT_EQ(WrapText("设备的链路断开，请检查光模块。", 15),
            (Lines{"设备的链路断", "开，请检查光模", "块。"}));
  EXPECT_EQ(WrapText("执行 hccn_tool -h（见手册）", 18),
            (Lines{"执行 hccn_tool -h", "（见手册）"}));
  EXPECT_EQ(WrapText("修复：`hccn_tool -i 2 -link -g`（link）", 12),
            (Lines{"修复：", "`hccn_tool -i 2 -link -g`", "（link）"}));
  // Breaks at spaces and gives a long word its own line.
  EXPECT_EQ(WrapText("one two three", 7), (Lines{"one two", "three"}));
  EXPECT_EQ(WrapText("a  b", 10), (Lines{"a  b"}));
  EXPECT_EQ(WrapText("go /a/very/long/path on", 6),
            (Lines{"go", "/a/very/long/path", "on"}));
  // Continues a list of hosts behind a comma.
  EXPECT_EQ(WrapText("on node[1,2,3,4,5]", 10),
            (Lines{"on", "node[1,2,", "3,4,5]"}));
  EXPECT_EQ(WrapText("`map 0,0,0,0,1,0,0,0`", 10),
            (Lines{"`map 0,0,0,0,1,0,0,0`"}));
  // Never breaks a command in backquotes.
  EXPECT_EQ(WrapText("on a: `hccn_tool -i 2 -link -g` (link)", 12),
            (Lines{"on a:", "`hccn_tool -i 2 -link -g`", "(link)"}));
  EXPECT_EQ(WrapText("an odd ` one", 6), (Lines{"an odd", "` one"}));
}

TEST(PageTest, GivesEveryLineOfASentenceALineAndNoBackslash) {
  std::ostringstream out;
  const Style style;
  Page(style, out).Sentence("NO VERDICT", Paint::kNone, "rule \"a\"\nPASS: b");
  EXPECT_EQ(out.str(), "NO VERDICT: rule \"a\"\n  PASS: b\n");
}

TEST(WrapTextTest, KeepsOneLineWithoutAWidth) {
  EXPECT_EQ(WrapText("one two", 0), (Lines{"one two"}));
  EXPECT_EQ(WrapText("", 10), (Lines{""}));
}

}  // namespace
}  // namespace clusterd
