#include "config/words/words.h"

#include "gtest/gtest.h"

namespace clusterd {
namespace {

TEST(ListedTest, IsOneTextAndCountsTheRest) {
  const FindingValue one = ToFindingValue("a");
  const FindingValue words = Counted(2, "host");
  EXPECT_EQ(ValueText(Listed({one}, 2)), "a");
  EXPECT_EQ(ValueText(Listed({one, words}, 2)), "a, 2 hosts");
  EXPECT_EQ(ValueText(Listed({words, one, one, one}, 2)),
            "2 hosts, a and 2 more");
}

TEST(DidYouMeanWordsTest, AreAPhraseOrNothing) {
  EXPECT_EQ(ValueText(DidYouMeanWords("snp", {"smp", "amp"})),
            ", did you mean \"smp\"?");
  EXPECT_EQ(ValueText(DidYouMeanWords("other", {"smp", "amp"})), "");
}

TEST(ValueTextTest, NamesWordsThatItDoesNotKnow) {
  EXPECT_EQ(ValueText(Worded("of-a-newer-one", 3, "a")),
            "of-a-newer-one: 3, a");
}

}  // namespace
}  // namespace clusterd
