#include "daemon/process/allowance.h"

#include "gtest/gtest.h"

namespace clusterd {
namespace {

TEST(AllowanceTest, SomeAtOnceAndSoMuchASecond) {
  const AllowanceLimits limits = {100, 10};
  const absl::Time start = absl::UnixEpoch();
  Allowance allowance;
  EXPECT_TRUE(allowance.Take(limits, 100, start));
  EXPECT_TRUE(allowance.Take(limits, 120, start + absl::Seconds(2)));
  EXPECT_FALSE(allowance.Take(limits, 121, start + absl::Seconds(2)));
  // A faster count that arrives after a later one.
  Allowance twice;
  EXPECT_TRUE(twice.Take(limits, 90, start));
  EXPECT_TRUE(twice.Take(limits, 10, start));
  EXPECT_TRUE(twice.Take(limits, 100, start));
  EXPECT_FALSE(twice.Take(limits, 101, start));
  Allowance rested;
  EXPECT_FALSE(rested.Take(limits, 101, start + absl::Hours(1)));
}

}  // namespace
}  // namespace clusterd
