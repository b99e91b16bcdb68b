#include "daemon/host/device_turns.h"

#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <optional>
#include <thread>
#include <utility>

#include "absl/synchronization/notification.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace clusterd {
namespace {

using ::testing::HasSubstr;

TEST(DeviceTurnsTest, GivesEachDeviceItsOwnTurn) {
  DeviceTurns turns;
  const absl::StatusOr<DeviceTurns::Turn> first =
      turns.Take(0, absl::ZeroDuration());
  const absl::StatusOr<DeviceTurns::Turn> second =
      turns.Take(1, absl::ZeroDuration());
  EXPECT_TRUE(first.ok());
  EXPECT_TRUE(second.ok());
}

TEST(DeviceTurnsTest, DoesNotGiveOneDeviceTwice) {
  DeviceTurns turns;
  const absl::StatusOr<DeviceTurns::Turn> first =
      turns.Take(3, absl::ZeroDuration());
  EXPECT_EQ(turns.Take(3, absl::ZeroDuration()).status().code(),
            absl::StatusCode::kDeadlineExceeded);
}

TEST(DeviceTurnsTest, TakesATurnBackWhenItEnds) {
  DeviceTurns turns;
  {
    absl::StatusOr<DeviceTurns::Turn> turn =
        turns.Take(3, absl::ZeroDuration());
    ASSERT_TRUE(turn.ok());
    const DeviceTurns::Turn moved = *std::move(turn);
  }
  EXPECT_TRUE(turns.Take(3, absl::ZeroDuration()).ok());
}

TEST(DeviceTurnsTest, WaitsForTheOther) {
  DeviceTurns turns;
  std::optional<DeviceTurns::Turn> first;
  first.emplace(*turns.Take(3, absl::ZeroDuration()));
  absl::Notification asked;
  std::thread other([&] {
    asked.Notify();
    EXPECT_TRUE(turns.Take(3, absl::InfiniteDuration()).ok());
  });
  asked.WaitForNotification();
  first.reset();
  other.join();
}

TEST(DeviceTurnsTest, BlocksADeviceWhileAProcessIsLeftBehind) {
  DeviceTurns turns;
  turns.LeaveBehind(3, getpid());
  const absl::Status blocked = turns.Take(3, absl::ZeroDuration()).status();
  EXPECT_EQ(blocked.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(blocked.message()),
              HasSubstr(std::to_string(getpid())));
  EXPECT_TRUE(turns.Take(4, absl::ZeroDuration()).ok());
}

TEST(DeviceTurnsTest, FreesADeviceWhenTheProcessHasEnded) {
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

  DeviceTurns turns;
  turns.LeaveBehind(3, pid);
  EXPECT_FALSE(turns.Take(3, absl::ZeroDuration()).ok());
  kill(pid, SIGKILL);
  // Not waited for: it has ended all the same.
  siginfo_t info;
  ASSERT_EQ(waitid(P_PID, pid, &info, WEXITED | WNOWAIT), 0);
  EXPECT_TRUE(turns.Take(3, absl::ZeroDuration()).ok());
  waitpid(pid, nullptr, 0);
  close(input[0]);
  close(input[1]);
}

TEST(DeviceTurnsTest, IgnoresAProcessThatIsGoneAlready) {
  DeviceTurns turns;
  turns.LeaveBehind(3, 0x7fffffff);
  EXPECT_TRUE(turns.Take(3, absl::ZeroDuration()).ok());
}

}  // namespace
}  // namespace clusterd
