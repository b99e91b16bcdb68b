#include <gtest/gtest.h>

#include "config/words/quoted_text.h"

namespace clusterd {
namespace {

constexpr char kReplaced[] = "\xef\xbf\xbd";

TEST(ValidUtf8Test, KeepsValidText) {
  for (const char* text : {"", "plain\t\n", "\xc3\xa9", "\xe2\x82\xac",
                           "\xf0\x9f\x99\x82", "\xf4\x8f\xbf\xbf"}) {
    EXPECT_EQ(ValidUtf8(text), text);
  }
  const std::string with_nul("a\0b", 3);
  EXPECT_EQ(ValidUtf8(with_nul), with_nul);
}

TEST(ValidUtf8Test, ReplacesEachByteThatIsNot) {
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
