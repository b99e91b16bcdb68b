#include "daemon/process/worker_pool.h"

#include <string>
#include <thread>

#include "absl/synchronization/notification.h"
#include "gtest/gtest.h"
#include "tests/support/wait/patience.h"

namespace clusterd {
namespace {

TEST(WorkerPoolTest, RunsAsManyAtOnceAsItHasThreads) {
  absl::Notification first;
  absl::Notification second;
  WorkerPool pool(2, 2);
  // They wait for each other: a single thread would hang here.
  ASSERT_TRUE(pool.TryRun([&] {
    first.Notify();
    second.WaitForNotification();
  }));
  ASSERT_TRUE(pool.TryRun([&] {
    second.Notify();
    first.WaitForNotification();
  }));
  EXPECT_TRUE(first.WaitForNotificationWithTimeout(kPatience));
  EXPECT_TRUE(second.WaitForNotificationWithTimeout(kPatience));
}

TEST(WorkerPoolTest, RefusesWhatDoesNotFitInTheQueue) {
  absl::Notification running;
  absl::Notification release;
  int ran = 0;
  {
    WorkerPool pool(1, 1);
    ASSERT_TRUE(pool.TryRun([&] {
      running.Notify();
      release.WaitForNotification();
    }));
    running.WaitForNotification();
    absl::Notification second;
    EXPECT_TRUE(pool.TryRun([&] {
      ++ran;
      second.Notify();
    }));
    EXPECT_FALSE(pool.TryRun([&] { ++ran; }));
    release.Notify();
    second.WaitForNotification();
  }
  EXPECT_EQ(ran, 1);
}

TEST(WorkerPoolTest, RunsWhatGoesFirstWhileAllOthersAreBusyAndTheirQueueFull) {
  absl::Notification busy;
  absl::Notification release;
  WorkerPool pool(1, 1, 1);
  ASSERT_TRUE(pool.TryRun([&] {
    busy.Notify();
    release.WaitForNotification();
  }));
  busy.WaitForNotification();
  ASSERT_TRUE(pool.TryRun([] {}));
  ASSERT_FALSE(pool.TryRun([] {}));
  absl::Notification done;
  EXPECT_TRUE(pool.TryRun([&] { done.Notify(); }, WorkerPool::Place::kFirst));
  EXPECT_TRUE(done.WaitForNotificationWithTimeout(kPatience));
  release.Notify();
  pool.Drain();
}

TEST(WorkerPoolTest, TakesWhatGoesFirstBeforeWhatCameEarlier) {
  absl::Notification busy;
  absl::Notification release;
  WorkerPool pool(1, 4);
  std::string order;
  ASSERT_TRUE(pool.TryRun([&] {
    busy.Notify();
    release.WaitForNotification();
  }));
  busy.WaitForNotification();
  pool.TryRun([&] { order += "turn "; });
  pool.TryRun([&] { order += "first "; }, WorkerPool::Place::kFirst);
  release.Notify();
  pool.Drain();
  EXPECT_EQ(order, "first turn ");
}

TEST(WorkerPoolTest, WaitsForWhatIsRunningWhenDestroyed) {
  bool finished = false;
  absl::Notification running;
  absl::Notification release;
  {
    WorkerPool pool(1, 1);
    pool.TryRun([&] {
      running.Notify();
      release.WaitForNotification();
      finished = true;
    });
    running.WaitForNotification();
    release.Notify();
  }
  EXPECT_TRUE(finished);
}

TEST(WorkerPoolTest, DrainWaitsForWhatRunsAndWhatIsQueued) {
  absl::Notification running;
  absl::Notification release;
  int ran = 0;
  WorkerPool pool(1, 4);
  ASSERT_TRUE(pool.TryRun([&] {
    running.Notify();
    release.WaitForNotification();
    ++ran;
  }));
  ASSERT_TRUE(pool.TryRun([&] { ++ran; }));
  running.WaitForNotification();
  std::thread later([&] { release.Notify(); });
  pool.Drain();
  EXPECT_EQ(ran, 2);
  later.join();
}

TEST(WorkerPoolTest, TellsHowLongItsOldestWorkHasBeenRunning) {
  WorkerPool pool(2, 2);
  EXPECT_EQ(pool.LongestRunning(), absl::ZeroDuration());
  absl::Notification running;
  absl::Notification release;
  ASSERT_TRUE(pool.TryRun([&] {
    running.Notify();
    release.WaitForNotification();
  }));
  running.WaitForNotification();
  const absl::Duration before = pool.LongestRunning();
  absl::Notification second;
  ASSERT_TRUE(pool.TryRun([&] { second.Notify(); }));
  second.WaitForNotification();
  EXPECT_GT(pool.LongestRunning(), before);
  release.Notify();
  pool.Drain();
  EXPECT_EQ(pool.LongestRunning(), absl::ZeroDuration());
}

}  // namespace
}  // namespace clusterd
