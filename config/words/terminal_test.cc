#include "config/words/terminal.h"

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

TEST(StyleTest, JudgesStdoutAndStderrApart) {
  const Terminal out_only = {/*out_is_terminal=*/true,
                             /*err_is_terminal=*/false, 80};
  EXPECT_TRUE(StyleOf(kOut, out_only, {}, ColorMode::kAuto).color);
  EXPECT_FALSE(StyleOf(kErr, out_only, {}, ColorMode::kAuto).color);
  EXPECT_FALSE(StyleOf(kErr, out_only, {}, ColorMode::kAuto).rewrites);
}

TEST(StyleTest, ObeysNoColorAndDumbTerminals) {
  EXPECT_FALSE(
      StyleOf(kOut, kWindow, {{"NO_COLOR", "1"}}, ColorMode::kAuto).color);
  EXPECT_TRUE(
      StyleOf(kOut, kWindow, {{"NO_COLOR", ""}}, ColorMode::kAuto).color);
  const Style dumb =
      StyleOf(kErr, kWindow, {{"TERM", "dumb"}}, ColorMode::kAuto);
  EXPECT_FALSE(dumb.color);
  EXPECT_FALSE(dumb.rewrites);
}

TEST(StyleTest, ColourAskedForWinsOverTheEnvironment) {
  EXPECT_TRUE(
      StyleOf(kOut, kPipe, {{"NO_COLOR", "1"}}, ColorMode::kAlways).color);
  EXPECT_FALSE(StyleOf(kOut, kWindow, {}, ColorMode::kNever).color);
}

TEST(StyleTest, TakesUtf8FromTheFirstLocaleVariableThatIsSet) {
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

}  // namespace
}  // namespace clusterd
