#include "daemon/process/watchdog.h"

#include <unistd.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/process/captured_log.h"
#include "tests/support/wait/patience.h"

namespace clusterd {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// Short, so that tests are fast; nothing below depends on its value.
constexpr absl::Duration kLimit = absl::Milliseconds(40);

TEST(WatchdogLimitTest, IsWhatSystemdSaysAndZeroWhereItWaitsForNoneOfUs) {
  EXPECT_EQ(WatchdogLimit("30000000", nullptr), absl::Seconds(30));
  EXPECT_EQ(WatchdogLimit("1500000", absl::StrCat(getpid()).c_str()),
            absl::Milliseconds(1500));
  EXPECT_EQ(WatchdogLimit(nullptr, nullptr), absl::ZeroDuration());
  EXPECT_EQ(WatchdogLimit("0", nullptr), absl::ZeroDuration());
  EXPECT_EQ(WatchdogLimit("soon", nullptr), absl::ZeroDuration());
  EXPECT_EQ(WatchdogLimit("30000000", "1"), absl::ZeroDuration());
  EXPECT_EQ(WatchdogLimit("30000000", "me"), absl::ZeroDuration());
}

// Counts the proofs of progress.
class Proofs {
 public:
  void Add() {
    absl::MutexLock lock(&mutex_);
    ++count_;
  }
  int count() {
    absl::MutexLock lock(&mutex_);
    return count_;
  }
  // False if it takes over kPatience.
  bool WaitForMoreThan(int count) {
    absl::MutexLock lock(&mutex_);
    const auto more = [this, count]() ABSL_SHARED_LOCKS_REQUIRED(mutex_) {
      return count_ > count;
    };
    return mutex_.AwaitWithTimeout(absl::Condition(&more), kPatience);
  }

 private:
  absl::Mutex mutex_;
  int count_ ABSL_GUARDED_BY(mutex_) = 0;
};

// A daemon's parts; a test blocks one of them.
struct WatchedDaemon {
  // Timers answer as soon as their thread runs, perhaps too late on a loaded
  // machine; workers answer at once or never.
  void Watch() {
    Watch({TimersPart(&scheduler, [this] { absl::MutexLock lock(&state); }),
           WorkersPart(&pool, absl::Hours(1))});
  }
  void Watch(std::vector<WatchdogPart> parts) {
    watchdog = std::make_unique<Watchdog>(
        kLimit, std::move(parts), [this] { proofs.Add(); }, &log);
  }
  // No proof is sent while the log reports that `part` is stuck.
  void ExpectStuck(const std::string& part) {
    ASSERT_TRUE(log.WaitFor("stuck: "));
    EXPECT_THAT(log.Lines(), HasSubstr(absl::StrCat("from ", part, ";")));
  }

  absl::Mutex state;
  Proofs proofs;
  CapturedLog log;
  ThreadScheduler scheduler;
  WorkerPool pool{1, 4};
  std::unique_ptr<Watchdog> watchdog;
};

TEST(WatchdogTest, ProvesAgainAndAgainThatTheDaemonGetsOn) {
  WatchedDaemon daemon;
  daemon.Watch();
  EXPECT_TRUE(daemon.proofs.WaitForMoreThan(3));
}

TEST(WatchdogTest, ProvesNothingWhileATimerBlocks) {
  absl::Notification release;
  absl::Notification running;
  WatchedDaemon daemon;
  daemon.scheduler.RunAfter(absl::ZeroDuration(), [&] {
    running.Notify();
    release.WaitForNotification();
  });
  running.WaitForNotification();
  daemon.Watch();
  daemon.ExpectStuck("timers");
  EXPECT_EQ(daemon.proofs.count(), 0);
  release.Notify();
  EXPECT_TRUE(daemon.proofs.WaitForMoreThan(0));
  daemon.watchdog.reset();
}

TEST(WatchdogTest, ProvesNothingWhileSomebodyHoldsALock) {
  WatchedDaemon daemon;
  daemon.state.Lock();
  daemon.Watch();
  daemon.ExpectStuck("timers");
  EXPECT_EQ(daemon.proofs.count(), 0);
  daemon.state.Unlock();
  EXPECT_TRUE(daemon.proofs.WaitForMoreThan(0));
}

TEST(WatchdogTest, ProvesNothingWhileAWorkerIsStuck) {
  absl::Notification release;
  absl::Notification running;
  WatchedDaemon daemon;
  ASSERT_TRUE(daemon.pool.TryRun([&] {
    running.Notify();
    release.WaitForNotification();
  }));
  running.WaitForNotification();
  daemon.Watch({{"prompt", [](const auto& done) { done(); }},
                WorkersPart(&daemon.pool, /*longest=*/absl::ZeroDuration())});
  daemon.ExpectStuck("workers");
  EXPECT_EQ(daemon.proofs.count(), 0);
  release.Notify();
  EXPECT_TRUE(daemon.proofs.WaitForMoreThan(0));
}

TEST(WatchdogTest, TakesLongWorkForNoStuckWorker) {
  absl::Notification release;
  WatchedDaemon daemon;
  ASSERT_TRUE(daemon.pool.TryRun([&] { release.WaitForNotification(); }));
  daemon.Watch({WorkersPart(&daemon.pool, absl::Hours(1))});
  EXPECT_TRUE(daemon.proofs.WaitForMoreThan(2));
  EXPECT_THAT(daemon.log.Lines(), Not(HasSubstr("stuck")));
  release.Notify();
}

// An answer of the previous round must not count for a part that is now stuck.
TEST(WatchdogTest, TakesNoAnswerForALaterRound) {
  CapturedLog log;
  Proofs proofs;
  absl::Mutex mutex;
  std::vector<std::function<void()>> answers;
  const WatchdogPart part = {"part", [&](std::function<void()> done) {
                               absl::MutexLock lock(&mutex);
                               answers.push_back(done);
                               // The first round gets its answer at once.
                               if (answers.size() == 1) done();
                               // Later rounds get the first one's answer again.
                               answers.front()();
                             }};
  const Watchdog watchdog(
      kLimit, {part}, [&] { proofs.Add(); }, &log);
  ASSERT_TRUE(log.WaitFor("stuck: no answer in 20ms from part;"));
  EXPECT_EQ(proofs.count(), 1);
}

TEST(WatchdogTest, AnswersMayComeWhenItHasEnded) {
  CapturedLog log;
  std::function<void()> late;
  {
    const Watchdog watchdog(
        kLimit, {{"part", [&](std::function<void()> done) { late = done; }}},
        [] {}, &log);
    ASSERT_TRUE(log.WaitFor("stuck"));
  }
  late();
}

TEST(WatchdogTest, DoesNothingWhereNobodyWaits) {
  CapturedLog log;
  bool asked = false;
  {
    const Watchdog watchdog(
        absl::ZeroDuration(), {{"part", [&](const auto&) { asked = true; }}},
        [&] { asked = true; }, &log);
  }
  EXPECT_FALSE(asked);
}

}  // namespace
}  // namespace clusterd
