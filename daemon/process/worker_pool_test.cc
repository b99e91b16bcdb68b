#include "daemon/process/worker_pool.h"

#include <functional>
#include <string>
#include <thread>

#include "absl/synchronization/notification.h"
#include "gtest/gtest.h"
#include "tests/support/wait/patience.h"

namespace clusterd {
namespace {

// Work that holds a thread until it is released.
struct Held {
  std::function<void()> Work() {
    return [this] {
      running.Notify();
      release.WaitForNotification();
    };
  }
  // Puts it into the pool, and waits until it runs.
  void Hold(WorkerPool* pool) {
    ASSERT_TRUE(pool->TryRun(Work()));
    running.WaitForNotification();
  }

  absl::Notification running;
  absl::Notification release;
};

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
  Held held;
  int ran = 0;
  {
    WorkerPool pool(1, 1);
    held.Hold(&pool);
    absl::Notification second;
    EXPECT_TRUE(pool.TryRun([&] {
      ++ran;
      second.Notify();
    }));
    EXPECT_FALSE(pool.TryRun([&] { ++ran; }));
    held.release.Notify();
    second.WaitForNotification();
  }
  EXPECT_EQ(ran, 1);
}

TEST(WorkerPoolTest, RunsWhatGoesFirstWhileAllOthersAreBusyAndTheirQueueFull) {
  Held held;
  WorkerPool pool(1, 1, 1);
  held.Hold(&pool);
  ASSERT_TRUE(pool.TryRun([] {}));
  ASSERT_FALSE(pool.TryRun([] {}));
  absl::Notification done;
  EXPECT_TRUE(pool.TryRun([&] { done.Notify(); }, WorkerPool::Place::kFirst));
  EXPECT_TRUE(done.WaitForNotificationWithTimeout(kPatience));
  held.release.Notify();
  pool.Drain();
}

TEST(WorkerPoolTest, TakesWhatGoesFirstBeforeWhatCameEarlier) {
  Held held;
  WorkerPool pool(1, 4);
  std::string order;
  held.Hold(&pool);
  pool.TryRun([&] { order += "turn "; });
  pool.TryRun([&] { order += "first "; }, WorkerPool::Place::kFirst);
  held.release.Notify();
  pool.Drain();
  EXPECT_EQ(order, "first turn ");
}

TEST(WorkerPoolTest, WaitsForWhatIsRunningWhenDestroyed) {
  bool finished = false;
  Held held;
  {
    WorkerPool pool(1, 1);
    pool.TryRun([&] {
      held.Work()();
      finished = true;
    });
    held.running.WaitForNotification();
    held.release.Notify();
  }
  EXPECT_TRUE(finished);
}

TEST(WorkerPoolTest, DrainWaitsForWhatRunsAndWhatIsQueued) {
  Held held;
  int ran = 0;
  WorkerPool pool(1, 4);
  ASSERT_TRUE(pool.TryRun([&] {
    held.Work()();
    ++ran;
  }));
  ASSERT_TRUE(pool.TryRun([&] { ++ran; }));
  held.running.WaitForNotification();
  std::thread later([&] { held.release.Notify(); });
  pool.Drain();
  EXPECT_EQ(ran, 2);
  later.join();
}

TEST(WorkerPoolTest, TellsHowLongItsOldestWorkHasBeenRunning) {
  WorkerPool pool(2, 2);
  EXPECT_EQ(pool.LongestRunning(), absl::ZeroDuration());
  Held held;
  held.Hold(&pool);
  const absl::Duration before = pool.LongestRunning();
  absl::Notification second;
  ASSERT_TRUE(pool.TryRun([&] { second.Notify(); }));
  second.WaitForNotification();
  EXPECT_GT(pool.LongestRunning(), before);
  held.release.Notify();
  pool.Drain();
  EXPECT_EQ(pool.LongestRunning(), absl::ZeroDuration());
}

}  // namespace
}  // namespace clusterd
