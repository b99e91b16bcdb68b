#include "config/values/change_kind.h"

#include <gtest/gtest.h>

namespace clusterd {
namespace {

TEST(ChangeKindTest, EveryNameReadsBackAsItsKindAndRefusesOtherSpellings) {
  EXPECT_EQ(AllChangeKinds().size(), 8u);
  for (const ChangeKind kind : AllChangeKinds()) {
    EXPECT_EQ(ParseChangeKind(ChangeKindName(kind)), kind);
  }
  EXPECT_FALSE(ParseChangeKind("Sysctl").has_value());
  EXPECT_FALSE(ParseChangeKind("").has_value());
  EXPECT_FALSE(ParseChangeKind("device_address").has_value());
  // Names a kind from the future by its number.
  EXPECT_EQ(ChangeKindName(static_cast<ChangeKind>(17)), "unknown kind 17");
}

}  // namespace
}  // namespace clusterd
