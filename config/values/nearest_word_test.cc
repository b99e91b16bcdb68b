#include "config/values/nearest_word.h"

#include <gtest/gtest.h>

namespace clusterd {
namespace {

TEST(NearestWordTest, FindsOneLetterWrongMissingExtraOrSwapped) {
  for (absl::string_view word :
       {"netmask", "netmast", "netmsk", "nettmask", "netmaks", "NETMASK"}) {
    EXPECT_EQ(NearestWord(word, {"addresses", "netmask", "rails"}), "netmask")
        << word;
  }
}

TEST(NearestWordTest, PrefersTheFewestEditsAndThenTheFirst) {
  EXPECT_EQ(NearestWord("atlas-a4", {"atlas-a24", "atlas-a2", "atlas-a3"}),
            "atlas-a24");
  EXPECT_EQ(NearestWord("atlas-a4", {"atlas-a2", "atlas-a3"}), "atlas-a2");
}

TEST(NearestWordTest, SaysNothingWhenNothingIsNear) {
  EXPECT_EQ(NearestWord("colour", {"netmask", "rails"}), "");
  EXPECT_EQ(NearestWord("", {"a"}), "");
  EXPECT_EQ(NearestWord("smp", {}), "");
  EXPECT_EQ(NearestWord(std::string(65, 'a'), {std::string(64, 'a')}), "");
}

TEST(DidYouMeanTest, IsAPhraseOrNothing) {
  EXPECT_EQ(DidYouMean("snp", {"smp", "amp"}), ", did you mean \"smp\"?");
  EXPECT_EQ(DidYouMean("other", {"smp", "amp"}), "");
}

}  // namespace
}  // namespace clusterd
