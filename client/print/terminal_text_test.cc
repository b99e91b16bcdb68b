#include "client/print/terminal_text.h"

#include "gtest/gtest.h"

namespace clusterd {
namespace {

TEST(SafeTextTest, EscapesWhatATerminalObeys) {
  EXPECT_EQ(SafeText("\x1b[2J\x1b]0;x\x07", true), "\\x1b[2J\\x1b]0;x\\x07");
  EXPECT_EQ(SafeText("a\nb\rc\td", true), "a\\nb\\rc\\td");
  EXPECT_EQ(SafeText("del\x7f", true), "del\\x7f");
  EXPECT_EQ(SafeText("csi \xc2\x9b"
                     "31m",
                     true),
            "csi \\x9b31m");
  EXPECT_EQ(SafeText(absl::string_view("nul\0", 4), true), "nul\\x00");
}

TEST(SafeTextTest, EscapesInvisibleAndReorderingCharacters) {
  EXPECT_EQ(SafeText("a\u202e"
                     "b",
                     true),
            "a\\u202eb");
  EXPECT_EQ(SafeText("a\u2066"
                     "b",
                     true),
            "a\\u2066b");
  EXPECT_EQ(SafeText("a\u200b"
                     "b\ufeff",
                     true),
            "a\\u200bb\\ufeff");
  EXPECT_EQ(SafeText("line\u2028"
                     "two",
                     true),
            "line\\u2028two");
  EXPECT_EQ(SafeText("tag\U000e0041", true), "tag\\U000e0041");
}

TEST(SafeTextTest, EscapesBytesThatAreNotUtf8) {
  EXPECT_EQ(SafeText("\xff\xfe", true), "\\xff\\xfe");
  EXPECT_EQ(SafeText("cut \xe2\x80", true), "cut \\xe2\\x80");
  EXPECT_EQ(SafeText("overlong \xc0\x9b", true), "overlong \\xc0\\x9b");
  EXPECT_EQ(SafeText("surrogate \xed\xa0\x80", true),
            "surrogate \\xed\\xa0\\x80");
  EXPECT_EQ(SafeText("too large \xf5\x80\x80\x80", true),
            "too large \\xf5\\x80\\x80\\x80");
}

TEST(SafeTextTest, KeepsOtherTextWhereTheLocaleCanShowIt) {
  EXPECT_EQ(SafeText("café 服务器 …", true), "café 服务器 …");
}

TEST(SafeTextTest, FindsAsciiForOurOwnSignsAndEscapesTheRest) {
  EXPECT_EQ(SafeText("a … b — c × d → e “q”", false),
            "a ... b - c x d -> e \"q\"");
  EXPECT_EQ(SafeText("caf\u00e9 \u670d \U0001f600", false),
            "caf\\xe9 \\u670d \\U0001f600");
}

TEST(SafeTextTest, ChangesNothingWhenAppliedTwice) {
  const std::string once = SafeText("\x1b[31m \xff …", false);
  EXPECT_EQ(SafeText(once, false), once);
}

TEST(SafeJsonTest, EscapesInsideStringsAndKeepsTheLayout) {
  EXPECT_EQ(SafeJson("{\n \"a\": \"\u202e\u009b\U000e0041\"\n}"),
            "{\n \"a\": \"\\u202e\\u009b\\udb40\\udc41\"\n}");
  EXPECT_EQ(SafeJson("\"é\""), "\"é\"");
}

TEST(SafeJsonTest, ReplacesBytesThatAreNotUtf8) {
  EXPECT_EQ(SafeJson("\"\xff\""), "\"\\ufffd\"");
}

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
