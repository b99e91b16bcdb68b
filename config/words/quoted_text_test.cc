#include "config/words/quoted_text.h"

#include <string>

#include "absl/strings/string_view.h"
#include "gtest/gtest.h"

namespace clusterd {
namespace {

TEST(QuotedTextTest, LeavesPrintableTextAloneAndSpellsOutControlCharacters) {
  EXPECT_EQ(QuotedText("link status: UP"), "\"link status: UP\"");
  EXPECT_EQ(QuotedText(std::string("a\n\r\t\x1b[31m\0b", 11)),
            "\"a\\n\\r\\t\\x1b[31m\\x00b\"");
  // Shows letters and spells out other bytes and cuts long text.
  EXPECT_EQ(QuotedText("“本机２”"), "\"“本机２”\"");
  EXPECT_EQ(QuotedText("a\u202e"), "\"a\\u202e\"");
  // "Failed" in GBK, of which the first two bytes would be a letter of UTF-8.
  EXPECT_EQ(QuotedText("\xca\xa7\xb0\xdc"), "\"\\xca\\xa7\\xb0\\xdc\"");
  // No letter is cut in two.
  EXPECT_EQ(QuotedText(std::string(kMaxQuotedBytes - 1, 'a') + "本"),
            "\"" + std::string(kMaxQuotedBytes - 1, 'a') + "...\"");
  EXPECT_EQ(QuotedText(std::string(1000, 'a')),
            "\"" + std::string(kMaxQuotedBytes, 'a') + "...\"");
}

TEST(PrintableTextTest, TakesTextThatFitsWhole) {
  EXPECT_EQ(PrintableText("12345", 5), "12345");
  EXPECT_EQ(PrintableText("123456", 5), "12345...");
  EXPECT_EQ(PrintableText(std::string(1000, '\x80')).size(),
            4 * kMaxPrintableBytes + 3);
}

TEST(SafeTextTest, EscapesWhatATerminalObeys) {
  EXPECT_EQ(SafeText("\x1b[2J\x1b]0;x\x07", true), "\\x1b[2J\\x1b]0;x\\x07");
  EXPECT_EQ(SafeText("a\nb\rc\td", true), "a\\nb\\rc\\td");
  EXPECT_EQ(SafeText("del\x7f", true), "del\\x7f");
  EXPECT_EQ(SafeText("csi \xc2\x9b"
                     "31m",
                     true),
            "csi \\x9b31m");
  EXPECT_EQ(SafeText(absl::string_view("nul\0", 4), true), "nul\\x00");
  // Escapes invisible and reordering characters.
  EXPECT_EQ(SafeText("a\u202eb", true), "a\\u202eb");
  EXPECT_EQ(SafeText("a\u2066b", true), "a\\u2066b");
  EXPECT_EQ(SafeText("a\u200bb\ufeff", true), "a\\u200bb\\ufeff");
  EXPECT_EQ(SafeText("line\u2028two", true), "line\\u2028two");
  EXPECT_EQ(SafeText("tag\U000e0041", true), "tag\\U000e0041");
  // Escapes bytes that are not UTF-8.
  EXPECT_EQ(SafeText("\xff\xfe", true), "\\xff\\xfe");
  EXPECT_EQ(SafeText("cut \xe2\x80", true), "cut \\xe2\\x80");
  EXPECT_EQ(SafeText("overlong \xc0\x9b", true), "overlong \\xc0\\x9b");
  EXPECT_EQ(SafeText("surrogate \xed\xa0\x80", true),
            "surrogate \\xed\\xa0\\x80");
  EXPECT_EQ(SafeText("too large \xf5\x80\x80\x80", true),
            "too large \\xf5\\x80\\x80\\x80");
  // Keeps other text where the locale can show it.
  EXPECT_EQ(SafeText("café 服务器 …", true), "café 服务器 …");
  // Finds ASCII for our own signs and escapes the rest.
  EXPECT_EQ(SafeText("a … b — c × d → e “q”", false),
            "a ... b - c x d -> e \"q\"");
  EXPECT_EQ(SafeText("caf\u00e9 \u670d \U0001f600", false),
            "caf\\xe9 \\u670d \\U0001f600");
  // Changes nothing when applied twice.
  const std::string once = SafeText("\x1b[31m \xff …", false);
  EXPECT_EQ(SafeText(once, false), once);
}

TEST(SafeJsonTest, EscapesInsideStringsAndKeepsTheLayout) {
  EXPECT_EQ(SafeJson("{\n \"a\": \"\u202e\u009b\U000e0041\"\n}"),
            "{\n \"a\": \"\\u202e\\u009b\\udb40\\udc41\"\n}");
  EXPECT_EQ(SafeJson("\"é\""), "\"é\"");
  // Replaces bytes that are not UTF-8.
  EXPECT_EQ(SafeJson("\"\xff\""), "\"\\ufffd\"");
}

TEST(SafeTextTest, EscapesAControlAtTheVeryEnd) {
  EXPECT_EQ(SafeText("a\xc2\x9b", true), "a\\x9b");
  // Half a character: the byte after it is not of the text.
  EXPECT_EQ(SafeText(absl::string_view("a\xc2\x9b", 2), true), "a\\xc2");
  EXPECT_EQ(PrintableText("a\xc2\x9b"), "a\\xc2\\x9b");
}

TEST(ShellQuotedTest, KeepsHostileTextOneWord) {
  EXPECT_EQ(ShellQuoted("/etc/a b"), "'/etc/a b'");
  EXPECT_EQ(ShellQuoted("x'; rm -rf /"), "'x'\\''; rm -rf /'");
  EXPECT_EQ(ShellQuoted("a\nb"), "'ab'");
  EXPECT_EQ(ShellQuoted("a\xc2\x9b"), "'a'");
  EXPECT_EQ(ShellQuoted("a\xc2"), "'a'");
}

constexpr char kReplaced[] = "\xef\xbf\xbd";

TEST(ValidUtf8Test, KeepsValidTextAndReplacesEachByteThatIsNot) {
  for (const char* text : {"", "plain\t\n", "\xc3\xa9", "\xe2\x82\xac",
                           "\xf0\x9f\x99\x82", "\xf4\x8f\xbf\xbf"}) {
    EXPECT_EQ(ValidUtf8(text), text);
  }
  const std::string with_nul("a\0b", 3);
  EXPECT_EQ(ValidUtf8(with_nul), with_nul);
  const std::string r = kReplaced;
  EXPECT_EQ(ValidUtf8("a\xff z"), "a" + r + " z");
  EXPECT_EQ(ValidUtf8("\x80"), r);
  EXPECT_EQ(ValidUtf8("\xc0\xaf"), r + r) << "overlong";
  EXPECT_EQ(ValidUtf8("\xed\xa0\x80"), r + r + r) << "surrogate";
  EXPECT_EQ(ValidUtf8("\xf4\x90\x80\x80"), r + r + r + r) << "too large";
  EXPECT_EQ(ValidUtf8("\xe2\x82"), r + r) << "cut";
}

}  // namespace
}  // namespace clusterd
