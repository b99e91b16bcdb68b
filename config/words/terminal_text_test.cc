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

TEST(WrapTextTest, BreaksAtSpaces) {
  EXPECT_EQ(WrapText("one two three", 7),
            (std::vector<std::string>{"one two", "three"}));
  EXPECT_EQ(WrapText("a  b", 10), (std::vector<std::string>{"a  b"}));
}

TEST(WrapTextTest, GivesALongWordItsOwnLine) {
  EXPECT_EQ(WrapText("go /a/very/long/path on", 6),
            (std::vector<std::string>{"go", "/a/very/long/path", "on"}));
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
