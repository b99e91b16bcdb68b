#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/synchronization/notification.h"
#include "daemon/host/hccn/hccn_tool.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/wait/patience.h"
#include "tests/support/wait/telling.h"

namespace clusterd {
namespace {

TEST(DeviceLocksTest, GivesEachDeviceItsOwnLock) {
  DeviceLocks locks;
  const absl::StatusOr<DeviceLocks::Lock> first =
      locks.Take(0, absl::ZeroDuration());
  const absl::StatusOr<DeviceLocks::Lock> second =
      locks.Take(1, absl::ZeroDuration());
  EXPECT_TRUE(first.ok());
  EXPECT_TRUE(second.ok());
}

TEST(DeviceLocksTest, DoesNotGiveOneDeviceTwice) {
  DeviceLocks locks;
  const absl::StatusOr<DeviceLocks::Lock> first =
      locks.Take(3, absl::ZeroDuration());
  EXPECT_EQ(locks.Take(3, absl::ZeroDuration()).status().code(),
            absl::StatusCode::kDeadlineExceeded);
}

TEST(DeviceLocksTest, TakesALockBackWhenItEnds) {
  DeviceLocks locks;
  {
    absl::StatusOr<DeviceLocks::Lock> lock =
        locks.Take(3, absl::ZeroDuration());
    ASSERT_TRUE(lock.ok());
    const DeviceLocks::Lock moved = *std::move(lock);
  }
  EXPECT_TRUE(locks.Take(3, absl::ZeroDuration()).ok());
}

TEST(DeviceLocksTest, WaitsForTheOther) {
  DeviceLocks locks;
  std::optional<DeviceLocks::Lock> first;
  first.emplace(*locks.Take(3, absl::ZeroDuration()));
  absl::Notification asked;
  std::thread other([&] {
    asked.Notify();
    EXPECT_TRUE(locks.Take(3, absl::InfiniteDuration()).ok());
  });
  asked.WaitForNotification();
  first.reset();
  other.join();
}

TEST(DeviceLocksTest, BlocksADeviceWhileAProcessIsLeftBehind) {
  DeviceLocks locks;
  locks.LeaveBehind(3, getpid());
  const absl::Status blocked = locks.Take(3, absl::ZeroDuration()).status();
  EXPECT_EQ(blocked.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(blocked, HasText(std::to_string(getpid())));
  EXPECT_TRUE(locks.Take(4, absl::ZeroDuration()).ok());
}

TEST(DeviceLocksTest, FreesADeviceWhenTheProcessHasEnded) {
  char program[] = "/bin/cat";
  char* argv[] = {program, nullptr};
  int input[2];
  ASSERT_EQ(pipe(input), 0);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, input[0], 0);
  pid_t pid = 0;
  ASSERT_EQ(posix_spawn(&pid, program, &actions, nullptr, argv, environ), 0);
  posix_spawn_file_actions_destroy(&actions);

  DeviceLocks locks;
  locks.LeaveBehind(3, pid);
  EXPECT_FALSE(locks.Take(3, absl::ZeroDuration()).ok());
  kill(pid, SIGKILL);
  // A zombie has ended, too.
  siginfo_t info;
  ASSERT_EQ(waitid(P_PID, pid, &info, WEXITED | WNOWAIT), 0);
  EXPECT_TRUE(locks.Take(3, absl::ZeroDuration()).ok());
  waitpid(pid, nullptr, 0);
  close(input[0]);
  close(input[1]);
}

TEST(DeviceLocksTest, IgnoresAProcessThatIsGoneAlready) {
  DeviceLocks locks;
  locks.LeaveBehind(3, 0x7fffffff);
  EXPECT_TRUE(locks.Take(3, absl::ZeroDuration()).ok());
}

TEST(DeviceLocksTest, WhoChangesADeviceIsBeforeAllWhoLook) {
  DeviceLocks locks;
  auto held = locks.Take(0, absl::ZeroDuration());
  ASSERT_TRUE(held.ok());
  std::atomic<bool> changed{false};
  std::atomic<bool> looked_first{false};
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      const auto look = locks.Take(0, kPatience);
      EXPECT_TRUE(look.ok());
      if (!changed) looked_first = true;
    });
  }
  threads.emplace_back([&] {
    const auto change = locks.Take(0, kPatience, /*changes=*/true);
    EXPECT_TRUE(change.ok());
    changed = true;
  });
  // While the change waits, other callers get its error.
  std::string told;
  while (!absl::StrContains(told, "about to be changed")) {
    told = std::string(locks.Take(0, absl::ZeroDuration()).status().message());
  }
  held->reset();
  for (std::thread& thread : threads) thread.join();
  EXPECT_TRUE(changed);
  EXPECT_FALSE(looked_first);
}

}  // namespace
}  // namespace clusterd
