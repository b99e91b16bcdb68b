#include "config/words/state_word.h"

#include "gtest/gtest.h"

namespace clusterd {
namespace {

constexpr State kFutureState = static_cast<State>(42);

TEST(StateLabelTest, ShowsSymbolAndWordOfOneWidth) {
  Style style;
  style.utf8 = true;
  EXPECT_EQ(StateLabel(PASS, style), "√ pass   ");
  EXPECT_EQ(StateLabel(SKIPPED, style), "- skipped");
  EXPECT_EQ(StateLabel(WARN, style), "‼ warn   ");
  EXPECT_EQ(StateLabel(UNKNOWN, style), "? unknown");
  EXPECT_EQ(StateLabel(FAIL, style), "× fail   ");
}

TEST(StateLabelTest, UsesAsciiSymbolsWithoutUtf8) {
  const Style style;
  EXPECT_EQ(StateLabel(PASS, style), "+ pass   ");
  EXPECT_EQ(StateLabel(WARN, style), "! warn   ");
  EXPECT_EQ(StateLabel(FAIL, style), "x fail   ");
  // Calls a state that we do not know unknown.
  EXPECT_EQ(KnownState(kFutureState), UNKNOWN);
  EXPECT_EQ(KnownState(STATE_UNSPECIFIED), UNKNOWN);
  EXPECT_STREQ(StateWord(kFutureState), "unknown");
}

TEST(WorseStateTest, OrdersFailUnknownWarnPass) {
  EXPECT_EQ(WorseState(FAIL, UNKNOWN), FAIL);
  EXPECT_EQ(WorseState(WARN, UNKNOWN), UNKNOWN);
  EXPECT_EQ(WorseState(PASS, WARN), WARN);
  EXPECT_EQ(WorseState(PASS, kFutureState), UNKNOWN);
  EXPECT_EQ(WorseState(PASS, STATE_UNSPECIFIED), UNKNOWN);
}

}  // namespace
}  // namespace clusterd
