
#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "absl/strings/str_cat.h"
#include "daemon/controller/notify/news_sender.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/wait/patience.h"
#include "tests/support/wait/test_file.h"

namespace clusterd {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class RunNotifierCommandTest : public testing::Test {
 protected:
  absl::StatusOr<std::string> RunShell(const std::string& script,
                                       absl::string_view input = "",
                                       absl::Duration deadline = kPatience) {
    return RunNotifierCommand({"/bin/sh", "-c", script, "sh", file_}, input,
                              deadline, stop_.fd());
  }

  const std::string file_ =
      absl::StrCat(testing::TempDir(), "/command.", getpid());
  const StopSignal stop_{};
};

// The named pipe `file_`.alive, which a script and its children hold open.
class RunNotifierCommandKillTest : public RunNotifierCommandTest {
 protected:
  void SetUp() override {
    std::filesystem::remove(file_);
    std::filesystem::remove(alive_);
    ASSERT_EQ(mkfifo(alive_.c_str(), 0600), 0);
    fd_ = open(alive_.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    ASSERT_GE(fd_, 0);
  }
  void TearDown() override {
    if (fd_ >= 0) close(fd_);
  }
  // True if all have gone, or go. REQUIRES: one has opened it.
  bool AllGo() const {
    pollfd held = {fd_, 0, 0};
    return poll(&held, 1,
                static_cast<int>(absl::ToInt64Milliseconds(kPatience))) == 1;
  }

 private:
  const std::string alive_ = file_ + ".alive";
  int fd_ = -1;
};

TEST_F(RunNotifierCommandTest, ReadsTheWholeInputAndTellsTheFirstLine) {
  const std::string news(3 << 20, 'x');
  const auto line = RunShell("cat > $1; echo taken; echo more >&2", news);
  ASSERT_TRUE(line.ok()) << line.status();
  EXPECT_EQ(*line, "taken");
  EXPECT_EQ(TextOfFile(file_), news);
}

TEST_F(RunNotifierCommandTest, ProgramThatReadsNothingIsNoTrouble) {
  EXPECT_TRUE(RunShell("exit 0", std::string(3 << 20, 'x')).ok());
  // Endless output does not block it either.
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
  const std::string seen = TextOfFile(file_);
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
      RunNotifierCommand({"/no/such/program"}, "", kPatience, -1).status();
  EXPECT_TRUE(absl::IsNotFound(none)) << none;
  EXPECT_EQ(none.message(), "/no/such/program: No such file or directory");
  EXPECT_TRUE(absl::IsPermissionDenied(
      RunNotifierCommand({"/etc"}, "", kPatience, -1).status()));
}

TEST_F(RunNotifierCommandKillTest, IsKilledAtItsDeadlineWithAllThatItStarted) {
  // Double the deadline until the script reaches its `wait` before it.
  absl::Duration deadline = absl::Milliseconds(250);
  absl::Status status;
  do {
    deadline *= 2;
    status =
        RunShell("exec 9> $1.alive; sleep 1000 & echo waits; echo > $1; wait",
                 "", deadline)
            .status();
    ASSERT_TRUE(absl::IsDeadlineExceeded(status)) << status;
  } while (TextOfFile(file_).empty() && deadline < kPatience);
  EXPECT_EQ(status.message(),
            absl::StrCat("not done in ", absl::FormatDuration(deadline),
                         " and killed: waits"));
  EXPECT_TRUE(AllGo());
}

TEST_F(RunNotifierCommandKillTest, WhatItLeavesBehindIsKilled) {
  ASSERT_TRUE(RunShell("exec 9> $1.alive; sleep 1000 &").ok());
  EXPECT_TRUE(AllGo());
}

TEST_F(RunNotifierCommandTest, EndsWhenTheControllerStops) {
  stop_.Set();
  EXPECT_TRUE(absl::IsCancelled(RunShell("sleep 1000").status()));
}

}  // namespace
}  // namespace clusterd
