#include "daemon/controller/notify/notifier_command.h"

#include <signal.h>
#include <unistd.h>

#include <fstream>
#include <sstream>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "daemon/controller/notify/stop_signal.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace clusterd {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr absl::Duration kEnough = absl::Seconds(30);

std::string ReadAll(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

class RunNotifierCommandTest : public testing::Test {
 protected:
  absl::StatusOr<std::string> RunShell(const std::string& script,
                                       absl::string_view input = "",
                                       absl::Duration deadline = kEnough) {
    return RunNotifierCommand({"/bin/sh", "-c", script, "sh", file_}, input,
                              deadline, stop_.fd());
  }
  // Whether the process has gone, or goes within a while.
  static bool Goes(const std::string& pid_text) {
    int pid = 0;
    if (!absl::SimpleAtoi(pid_text, &pid)) return false;
    for (int i = 0; i < 3000; ++i) {
      // One that has ended and that nobody reaps has no memory.
      const std::string maps = ReadAll(absl::StrCat("/proc/", pid, "/maps"));
      if (kill(pid, 0) != 0 || maps.empty()) return true;
      usleep(10'000);
    }
    return false;
  }

  const std::string file_ =
      absl::StrCat(testing::TempDir(), "/command.", getpid());
  const StopSignal stop_;
};

TEST_F(RunNotifierCommandTest, ReadsTheWholeInputAndTellsTheFirstLine) {
  const std::string news(3 << 20, 'x');
  const auto line = RunShell("cat > $1; echo taken; echo more >&2", news);
  ASSERT_TRUE(line.ok()) << line.status();
  EXPECT_EQ(*line, "taken");
  EXPECT_EQ(ReadAll(file_), news);
}

TEST_F(RunNotifierCommandTest, ProgramThatReadsNothingIsNoTrouble) {
  EXPECT_TRUE(RunShell("exit 0", std::string(3 << 20, 'x')).ok());
  // Nor one that writes without end.
  const auto noisy = RunShell("head -c 9000000 /dev/zero; exit 0");
  EXPECT_TRUE(noisy.ok()) << noisy.status();
}

TEST_F(RunNotifierCommandTest, HasNothingOfOurs) {
  setenv("CLUSTERD_SECRET", "1", 1);
  constexpr int kOpen = 77;  // Without O_CLOEXEC.
  ASSERT_EQ(dup2(STDERR_FILENO, kOpen), kOpen);
  const auto line = RunShell("env > $1; pwd >> $1; echo /proc/$$/fd/*");
  close(kOpen);
  unsetenv("CLUSTERD_SECRET");
  ASSERT_TRUE(line.ok()) << line.status();
  EXPECT_THAT(*line, AllOf(HasSubstr("/fd/2"), Not(HasSubstr("/fd/77"))));
  const std::string seen = ReadAll(file_);
  EXPECT_THAT(seen, Not(HasSubstr("CLUSTERD_SECRET")));
  EXPECT_THAT(seen, HasSubstr("PATH=/usr/local/sbin"));
  EXPECT_THAT(seen, HasSubstr("\n/\n"));
}

TEST_F(RunNotifierCommandTest, AnotherStatusOrASignalIsAFailureWithItsLine) {
  const absl::Status status = RunShell("echo no pager >&2; exit 3").status();
  EXPECT_TRUE(absl::IsFailedPrecondition(status));
  EXPECT_EQ(status.message(), "exit status 3: no pager");
  EXPECT_EQ(RunShell("kill -9 $$").status().message(), "ended by signal 9");
}

TEST_F(RunNotifierCommandTest, WhatCannotBeRunIsNamed) {
  const absl::Status none =
      RunNotifierCommand({"/no/such/program"}, "", kEnough, -1).status();
  EXPECT_TRUE(absl::IsNotFound(none)) << none;
  EXPECT_EQ(none.message(), "/no/such/program: No such file or directory");
  EXPECT_TRUE(absl::IsPermissionDenied(
      RunNotifierCommand({"/etc"}, "", kEnough, -1).status()));
}

TEST_F(RunNotifierCommandTest, IsKilledAtItsDeadlineWithAllThatItStarted) {
  const absl::Status status =
      RunShell("sleep 1000 & echo $! > $1; echo waits; wait", "",
               absl::Milliseconds(500))
          .status();
  EXPECT_TRUE(absl::IsDeadlineExceeded(status)) << status;
  EXPECT_EQ(status.message(), "not done in 500ms and killed: waits");
  EXPECT_TRUE(Goes(ReadAll(file_)));
}

TEST_F(RunNotifierCommandTest, WhatItLeavesBehindIsKilled) {
  ASSERT_TRUE(RunShell("sleep 1000 & echo $! > $1").ok());
  EXPECT_TRUE(Goes(ReadAll(file_)));
}

TEST_F(RunNotifierCommandTest, EndsWhenTheControllerStops) {
  stop_.Set();
  EXPECT_TRUE(absl::IsCancelled(RunShell("sleep 1000").status()));
}

}  // namespace
}  // namespace clusterd
