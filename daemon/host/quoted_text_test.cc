#include "daemon/host/quoted_text.h"

#include <string>

#include "gtest/gtest.h"

namespace clusterd {
namespace {

TEST(QuotedTextTest, LeavesPrintableTextAlone) {
  EXPECT_EQ(QuotedText("link status: UP"), "\"link status: UP\"");
}

TEST(QuotedTextTest, SpellsOutControlCharacters) {
  EXPECT_EQ(QuotedText(std::string("a\n\r\t\x1b[31m\0b", 11)),
            "\"a\\n\\r\\t\\x1b[31m\\x00b\"");
}

TEST(QuotedTextTest, SpellsOutBytesOutsideAscii) {
  EXPECT_EQ(QuotedText("\xe4\xb8\xad"), "\"\\xe4\\xb8\\xad\"");
}

TEST(QuotedTextTest, CutsLongText) {
  EXPECT_EQ(QuotedText(std::string(1000, 'a')),
            "\"" + std::string(kMaxQuotedBytes, 'a') + "...\"");
}

TEST(PrintableTextTest, TakesTextThatFitsWhole) {
  EXPECT_EQ(PrintableText("12345", 5), "12345");
  EXPECT_EQ(PrintableText("123456", 5), "12345...");
}

}  // namespace
}  // namespace clusterd
