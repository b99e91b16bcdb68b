#include "daemon/controller/trust/join_limits.h"

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

namespace clusterd {
namespace {

TEST(JoinLimitsTest, OneAddressGetsAFewAtOnceAndThenOneASecond) {
  JoinLimits limits;
  absl::Time now = absl::UnixEpoch();
  for (int i = 0; i < 5; ++i) {
    EXPECT_TRUE(limits.Take(absl::StrCat("ipv4:10.0.0.1:", i), now).ok()) << i;
  }
  EXPECT_TRUE(absl::IsResourceExhausted(limits.Take("ipv4:10.0.0.1:9", now)));
  EXPECT_TRUE(limits.Take("ipv4:10.0.0.2:9", now).ok());
  now += absl::Seconds(1);
  EXPECT_TRUE(limits.Take("ipv4:10.0.0.1:9", now).ok());
  EXPECT_FALSE(limits.Take("ipv4:10.0.0.1:9", now).ok());
}

TEST(JoinLimitsTest, AllTogetherGetTwoHundredASecond) {
  JoinLimits limits;
  const absl::Time now = absl::UnixEpoch();
  int taken = 0;
  for (int i = 0; i < 1000; ++i) {
    if (limits.Take(absl::StrCat("ipv4:10.0.", i, ".1:5"), now).ok()) ++taken;
  }
  EXPECT_EQ(taken, 200);
  EXPECT_TRUE(limits.Take("ipv4:10.1.0.1:5", now + absl::Seconds(1)).ok());
}

// Whoever has many addresses must not have all memory, nor lock others out.
TEST(JoinLimitsTest, ManyAddressesAreForgottenAgain) {
  JoinLimits limits;
  absl::Time now = absl::UnixEpoch();
  for (size_t i = 0; i < JoinLimits::kMaxAddresses + 500; ++i) {
    now += absl::Milliseconds(10);
    EXPECT_TRUE(limits.Take(absl::StrCat("ipv6:[::", i, "]:5"), now).ok()) << i;
  }
}

// A clock that is set back gives nothing.
TEST(JoinLimitsTest, ClockThatIsSetBackGivesNothing) {
  JoinLimits limits;
  const absl::Time now = absl::UnixEpoch() + absl::Hours(1);
  for (int i = 0; i < 5; ++i) limits.Take("ipv4:10.0.0.1:1", now).IgnoreError();
  EXPECT_FALSE(limits.Take("ipv4:10.0.0.1:1", now - absl::Minutes(30)).ok());
}

}  // namespace
}  // namespace clusterd
