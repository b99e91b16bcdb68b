#include "config/values/change_kind.h"

#include <gtest/gtest.h>

namespace clusterd {
namespace {

TEST(ChangeKindTest, EveryNameReadsBackAsItsKind) {
  EXPECT_EQ(AllChangeKinds().size(), 8u);
  for (const ChangeKind kind : AllChangeKinds()) {
    EXPECT_EQ(ParseChangeKind(ChangeKindName(kind)), kind);
  }
}

TEST(ChangeKindTest, RefusesOtherSpellings) {
  EXPECT_FALSE(ParseChangeKind("Sysctl").has_value());
  EXPECT_FALSE(ParseChangeKind("").has_value());
  EXPECT_FALSE(ParseChangeKind("device_address").has_value());
}

TEST(ChangeKindTest, NamesAKindFromTheFutureByItsNumber) {
  EXPECT_EQ(ChangeKindName(static_cast<ChangeKind>(17)), "unknown kind 17");
}

}  // namespace
}  // namespace clusterd
