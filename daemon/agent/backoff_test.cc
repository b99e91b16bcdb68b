#include "daemon/agent/backoff.h"

#include "gtest/gtest.h"

namespace clusterd {
namespace {

BackoffOptions Options() {
  BackoffOptions options;
  options.min = absl::Milliseconds(10);
  options.initial = absl::Seconds(2);
  options.max = absl::Seconds(10);
  return options;
}

TEST(BackoffTest, DoublesItsBoundUpToTheLargest) {
  Backoff backoff(Options(), [] { return 0.5; });
  EXPECT_EQ(backoff.Next(), absl::Seconds(1));
  EXPECT_EQ(backoff.Next(), absl::Seconds(2));
  EXPECT_EQ(backoff.Next(), absl::Seconds(4));
  EXPECT_EQ(backoff.Next(), absl::Seconds(5));
  EXPECT_EQ(backoff.Next(), absl::Seconds(5));
}

TEST(BackoffTest, NeverWaitsLessThanTheSmallest) {
  Backoff backoff(Options(), [] { return 0.0; });
  EXPECT_EQ(backoff.Next(), absl::Milliseconds(10));
}

TEST(BackoffTest, BeginsAgainAfterSuccess) {
  Backoff backoff(Options(), [] { return 0.5; });
  backoff.Next();
  backoff.Next();
  backoff.Reset();
  EXPECT_EQ(backoff.Next(), absl::Seconds(1));
}

TEST(BackoffTest, SpreadsOverTheWholeBound) {
  double draw = 0.0;
  Backoff backoff(Options(), [&draw] { return draw; });
  draw = 0.01;
  EXPECT_EQ(backoff.Next(), absl::Milliseconds(20));
  backoff.Reset();
  draw = 0.75;
  EXPECT_EQ(backoff.Next(), absl::Milliseconds(1500));
}

}  // namespace
}  // namespace clusterd
