#include <sstream>

#include "config/words/terminal.h"
#include "gtest/gtest.h"

namespace clusterd {
namespace {

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
  EXPECT_EQ(
      WrapText("设备的链路断开，请检查光模块。", 15),
      (std::vector<std::string>{"设备的链路断", "开，请检查光模", "块。"}));
  EXPECT_EQ(WrapText("执行 hccn_tool -h（见手册）", 18),
            (std::vector<std::string>{"执行 hccn_tool -h", "（见手册）"}));
  EXPECT_EQ(WrapText("修复：`hccn_tool -i 2 -link -g`（link）", 12),
            (std::vector<std::string>{"修复：", "`hccn_tool -i 2 -link -g`",
                                      "（link）"}));
}

TEST(WrapTextTest, BreaksAtSpaces) {
  EXPECT_EQ(WrapText("one two three", 7),
            (std::vector<std::string>{"one two", "three"}));
  EXPECT_EQ(WrapText("a  b", 10), (std::vector<std::string>{"a  b"}));
}

TEST(WrapTextTest, GivesALongWordItsOwnLine) {
  EXPECT_EQ(WrapText("go /a/very/long/path on", 6),
            (std::vector<std::string>{"go", "/a/very/long/path", "on"}));
}

TEST(WrapTextTest, ContinuesAListOfHostsBehindAComma) {
  EXPECT_EQ(WrapText("on node[1,2,3,4,5]", 10),
            (std::vector<std::string>{"on", "node[1,2,", "3,4,5]"}));
  EXPECT_EQ(WrapText("`map 0,0,0,0,1,0,0,0`", 10),
            (std::vector<std::string>{"`map 0,0,0,0,1,0,0,0`"}));
}

TEST(WrapTextTest, NeverBreaksACommandInBackquotes) {
  EXPECT_EQ(WrapText("on a: `hccn_tool -i 2 -link -g` (link)", 12),
            (std::vector<std::string>{"on a:", "`hccn_tool -i 2 -link -g`",
                                      "(link)"}));
  EXPECT_EQ(WrapText("an odd ` one", 6),
            (std::vector<std::string>{"an odd", "` one"}));
}

TEST(PageTest, GivesEveryLineOfASentenceALineAndNoBackslash) {
  std::ostringstream out;
  const Style style;
  Page(style, out).Sentence("NO VERDICT", Paint::kNone, "rule \"a\"\nPASS: b");
  EXPECT_EQ(out.str(), "NO VERDICT: rule \"a\"\n  PASS: b\n");
}

TEST(WrapTextTest, KeepsOneLineWithoutAWidth) {
  EXPECT_EQ(WrapText("one two", 0), (std::vector<std::string>{"one two"}));
  EXPECT_EQ(WrapText("", 10), (std::vector<std::string>{""}));
}

}  // namespace
}  // namespace clusterd
