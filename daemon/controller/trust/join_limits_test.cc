#include "absl/strings/str_cat.h"
#include "config/words/words.h"
#include "daemon/controller/trust/join_token.h"
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

// An owner of many addresses must not take all memory, nor lock out others.
TEST(JoinLimitsTest, ManyAddressesAreForgottenAgain) {
  JoinLimits limits;
  absl::Time now = absl::UnixEpoch();
  for (size_t i = 0; i < JoinLimits::kMaxAddresses + 500; ++i) {
    now += absl::Milliseconds(10);
    EXPECT_TRUE(
        limits.Take(absl::StrCat("ipv4:", i / 256, ".", i % 256, ":5"), now)
            .ok())
        << i;
  }
}

// The owner of one address of a /64 has all.
TEST(JoinLimitsTest, NetworkOfIpv6IsOneAddress) {
  JoinLimits limits;
  const absl::Time now = absl::UnixEpoch();
  for (int i = 0; i < 5; ++i) {
    const std::string peer = absl::StrCat("ipv6:[2001:db8:0:1::", i, "]:5");
    EXPECT_TRUE(limits.Take(peer, now).ok()) << i;
  }
  for (const char* peer :
       {"ipv6:[2001:db8:0:1:a::b]:5", "ipv6:%5B2001:db8:0:1::9%5D:7"}) {
    EXPECT_FALSE(limits.Take(peer, now).ok()) << peer;
  }
  EXPECT_TRUE(limits.Take("ipv6:[2001:db8:0:2::1]:5", now).ok());
}

TEST(JoinLimitsTest, RefusalSaysWhenToTryAgain) {
  JoinLimits limits({/*burst=*/1, /*then_every=*/absl::Minutes(10)});
  const absl::Time now = absl::UnixEpoch();
  EXPECT_TRUE(limits.Take("node1:", now).ok());
  EXPECT_EQ(limits.Take("node1:", now + absl::Minutes(9)).message(),
            Say("msg-trust-too-many-of-one", "10m"));
  EXPECT_TRUE(limits.Take("node1:", now + absl::Minutes(11)).ok());
}

// Setting the clock back adds no allowance.
TEST(JoinLimitsTest, ClockThatIsSetBackGivesNothing) {
  JoinLimits limits;
  const absl::Time now = absl::UnixEpoch() + absl::Hours(1);
  for (int i = 0; i < 5; ++i) limits.Take("ipv4:10.0.0.1:1", now).IgnoreError();
  EXPECT_FALSE(limits.Take("ipv4:10.0.0.1:1", now - absl::Minutes(30)).ok());
}

}  // namespace
}  // namespace clusterd
