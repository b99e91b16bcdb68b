#include "daemon/host/command/clock.h"

#include "gtest/gtest.h"
#include "tests/support/host/fake_clock.h"

namespace clusterd {
namespace {

TEST(TimeBudgetTest, GivesACommandItsDeadlineAndNoMoreThanTheHostHas) {
  FakeClock clock;
  const TimeBudget budget(&clock, absl::Seconds(10), absl::Seconds(30));
  EXPECT_EQ(budget.ForCommand(), absl::Seconds(10));
  EXPECT_EQ(budget.CutBy(absl::Seconds(10)), "10s (deadlines.command)");
  EXPECT_EQ(budget.CutBy(absl::Seconds(3)), "30s (deadlines.host)");
  clock.Advance(absl::Seconds(25));
  EXPECT_EQ(budget.ForCommand(), absl::Seconds(5));
  EXPECT_EQ(budget.Passed(), absl::Seconds(25));
  clock.Advance(absl::Seconds(50));
  EXPECT_EQ(budget.ForCommand(), absl::ZeroDuration());
  EXPECT_TRUE(budget.IsSpent());
}

TEST(TimeBudgetTest, TakesTheRequestsDeadlinesOrDefaults) {
  FakeClock clock;
  ObserveRequest request;
  const TimeBudget defaults = TimeBudget::ForRequest(&clock, request);
  EXPECT_EQ(defaults.ForCommand(), absl::Seconds(10));
  EXPECT_EQ(defaults.Left(), absl::Seconds(30));
  request.set_command_ms(1500);
  request.set_host_ms(4000);
  const TimeBudget budget = TimeBudget::ForRequest(&clock, request);
  EXPECT_EQ(budget.ForCommand(), absl::Milliseconds(1500));
  EXPECT_EQ(budget.Left(), absl::Seconds(4));
}

}  // namespace
}  // namespace clusterd
