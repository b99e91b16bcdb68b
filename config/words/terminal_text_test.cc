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

TEST(WrapTextTest, KeepsOneLineWithoutAWidth) {
  EXPECT_EQ(WrapText("one two", 0), (std::vector<std::string>{"one two"}));
  EXPECT_EQ(WrapText("", 10), (std::vector<std::string>{""}));
}

}  // namespace
}  // namespace clusterd
