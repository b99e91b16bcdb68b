#include "daemon/process/callback_gate.h"

#include <optional>

#include "absl/synchronization/notification.h"
#include "gtest/gtest.h"
#include "tests/support/process/manual_scheduler.h"

namespace clusterd {
namespace {

TEST(CallbackGateTest, LetsNobodyPassOnceItIsClosed) {
  const CallbackGate gate;
  const CallbackGate same = gate;
  EXPECT_TRUE(CallbackGate::Pass(same));
  gate.Close();
  EXPECT_FALSE(CallbackGate::Pass(same));
  gate.Close();
}

TEST(CallbackGateTest, CloseWaitsForWhoIsInside) {
  WorkerPool pool(1, 1);
  const CallbackGate gate;
  std::optional<CallbackGate::Pass> pass(gate);
  absl::Notification closed;
  ASSERT_TRUE(pool.TryRun([&] {
    gate.Close();
    closed.Notify();
  }));
  while (CallbackGate::Pass(gate)) continue;
  EXPECT_FALSE(closed.HasBeenNotified());
  pass.reset();
  closed.WaitForNotification();
}

TEST(CallbackGateTest, RunSoonTriesAgainUntilThePoolHasRoom) {
  ManualScheduler scheduler;
  absl::Notification begun, go_on;
  WorkerPool pool(1, 1);
  ASSERT_TRUE(pool.TryRun([&] {
    begun.Notify();
    go_on.WaitForNotification();
  }));
  // The work must have begun before the queue is filled after it.
  begun.WaitForNotification();
  while (pool.TryRun([] {})) continue;
  int ran = 0;
  const CallbackGate gate;
  gate.RunSoon(&pool, &scheduler, [&ran] { ++ran; });
  scheduler.Advance(absl::Seconds(1));
  EXPECT_EQ(scheduler.pending(), 1);
  go_on.Notify();
  pool.Drain();
  EXPECT_EQ(ran, 0);
  scheduler.Advance(absl::Seconds(1));
  pool.Drain();
  EXPECT_EQ(ran, 1);
  EXPECT_EQ(scheduler.pending(), 0);
}

TEST(CallbackGateTest, RunSoonDropsWorkOfAClosedGate) {
  ManualScheduler scheduler;
  WorkerPool pool(1, 1);
  const CallbackGate gate;
  gate.Close();
  bool ran = false;
  gate.RunSoon(&pool, &scheduler, [&ran] { ran = true; });
  pool.Drain();
  EXPECT_FALSE(ran);
  EXPECT_EQ(scheduler.pending(), 0);
}

}  // namespace
}  // namespace clusterd
