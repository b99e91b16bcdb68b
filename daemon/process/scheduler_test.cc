#include "daemon/process/scheduler.h"

#include <string>
#include <vector>

#include "absl/synchronization/notification.h"
#include "gtest/gtest.h"
#include "tests/support/process/manual_scheduler.h"
#include "tests/support/wait/patience.h"

namespace clusterd {
namespace {

TEST(ThreadSchedulerTest, RunsWhatIsDueFirstFirst) {
  std::string order;
  absl::Notification done;
  ThreadScheduler scheduler;
  scheduler.RunAfter(absl::Hours(1), [&] { order += 'c'; });
  scheduler.RunAfter(absl::ZeroDuration(), [&] { order += 'a'; });
  // Never due before the next timer, however slow this test is.
  scheduler.RunAfter(absl::Milliseconds(20), [&] {
    order += 'b';
    done.Notify();
  });
  ASSERT_TRUE(done.WaitForNotificationWithTimeout(kPatience));
  EXPECT_EQ(order, "ab");
}

TEST(ThreadSchedulerTest, NeverRunsWhatWasCancelled) {
  bool ran = false;
  absl::Notification go_on;
  absl::Notification done;
  ThreadScheduler scheduler;
  // Blocks the thread until all timers are set and cancelled.
  scheduler.RunAfter(absl::ZeroDuration(),
                     [&] { go_on.WaitForNotification(); });
  const Scheduler::TimerId timer =
      scheduler.RunAfter(absl::ZeroDuration(), [&] { ran = true; });
  scheduler.Cancel(timer);
  scheduler.Cancel(timer);
  scheduler.Cancel(0);
  scheduler.RunAfter(absl::ZeroDuration(), [&] { done.Notify(); });
  go_on.Notify();
  ASSERT_TRUE(done.WaitForNotificationWithTimeout(kPatience));
  EXPECT_FALSE(ran);
}

TEST(ThreadSchedulerTest, MayBeUsedFromWhatItRuns) {
  absl::Notification done;
  ThreadScheduler scheduler;
  scheduler.RunAfter(absl::ZeroDuration(), [&] {
    const Scheduler::TimerId other =
        scheduler.RunAfter(absl::Hours(1), [] { FAIL(); });
    scheduler.Cancel(other);
    scheduler.RunAfter(absl::ZeroDuration(), [&] { done.Notify(); });
  });
  EXPECT_TRUE(done.WaitForNotificationWithTimeout(kPatience));
}

TEST(ThreadSchedulerTest, DropsWhatIsPendingWhenDestroyed) {
  bool ran = false;
  {
    ThreadScheduler scheduler;
    scheduler.RunAfter(absl::InfiniteDuration(), [&] { ran = true; });
  }
  EXPECT_FALSE(ran);
}

TEST(ManualSchedulerTest, RunsOnlyWhatTimeHasReached) {
  std::vector<int> ran;
  ManualScheduler scheduler;
  scheduler.RunAfter(absl::Seconds(2), [&] { ran.push_back(2); });
  scheduler.RunAfter(absl::Seconds(1), [&] { ran.push_back(1); });
  scheduler.Advance(absl::Seconds(1));
  EXPECT_EQ(ran, std::vector<int>({1}));
  EXPECT_EQ(scheduler.UntilNext(), absl::Seconds(1));
  scheduler.Advance(absl::Seconds(1));
  EXPECT_EQ(ran, std::vector<int>({1, 2}));
  EXPECT_EQ(scheduler.pending(), 0);
}

TEST(RunEveryTest, RunsAtOnceAndOnceADay) {
  ManualScheduler scheduler;
  int runs = 0;
  RunEvery(&scheduler, absl::Hours(24), [&runs] { ++runs; });
  EXPECT_EQ(runs, 1);
  scheduler.Advance(absl::Hours(23));
  EXPECT_EQ(runs, 1);
  for (int day = 2; day < 5; ++day) {
    scheduler.Advance(absl::Hours(24));
    EXPECT_EQ(runs, day);
  }
}

}  // namespace
}  // namespace clusterd
