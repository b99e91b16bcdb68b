#include <fcntl.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <functional>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "daemon/host/command/orphans.h"
#include "daemon/host/command/posix_command_runner.h"
#include "daemon/host/command/program_path.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/host/fake_clock.h"
#include "tests/support/host/fake_command_runner.h"
#include "tests/support/host/scratch_root.h"
#include "tests/support/wait/patience.h"

namespace clusterd {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::UnorderedElementsAre;

constexpr char kGetent[] = "getent passwd ann";
constexpr char kId[] = "id -G ann";

class FindUserTest : public ::testing::Test {
 protected:
  FindUserTest() {
    root_.WriteProgram("/usr/bin/getent", "#!/bin/sh\n");
    root_.WriteProgram("/usr/bin/id", "#!/bin/sh\n");
    runner_.Answers(kId, "1000 27 998\n");
  }
  absl::StatusOr<RunAs> Find(absl::string_view name = "ann") {
    const TimeBudget budget(&clock_, absl::Seconds(10), absl::Seconds(30));
    return FindUser(root_.path(), &runner_, budget, name);
  }

  ScratchRoot root_;
  FakeClock clock_;
  FakeCommandRunner runner_{&clock_};
};

TEST_F(FindUserTest, ReadsNumbersGroupsAndHome) {
  runner_.Answers(kGetent, "ann:x:1000:1001:Ann,,,:/home/ann:/bin/bash\n");
  const auto found = Find().value();
  EXPECT_EQ(found.name, "ann");
  EXPECT_EQ(found.uid, 1000u);
  EXPECT_EQ(found.gid, 1001u);
  EXPECT_EQ(found.home, "/home/ann");
  EXPECT_THAT(found.groups, ElementsAre(1000, 27, 998));
}

TEST_F(FindUserTest, SaysThatThereIsNoSuchUser) {
  runner_.Fails(kGetent, 2, "");
  EXPECT_TRUE(absl::IsNotFound(Find().status())) << Find().status();
}

TEST_F(FindUserTest, IsRootOnlyUnderThatName) {
  runner_.Answers(kGetent, "ann:x:0:0::/root:/bin/sh\n");
  EXPECT_TRUE(absl::IsPermissionDenied(Find().status())) << Find().status();
}

TEST_F(FindUserTest, AnswersAboutSomebodyElseAreRefused) {
  for (const char* const answer :
       {"bob:x:1000:1000::/home/bob:/bin/sh\n", "ann:x:-1:0::/h:/bin/sh\n",
        "ann:x:1000:99999999999::/h:/bin/sh\n", "ann:x:1:1::home:/bin/sh\n",
        "ann:x:1:1::/h:/bin/sh\nann:x:0:0::/h:/bin/sh\n", ""}) {
    runner_.NowAnswers(kGetent, answer);
    EXPECT_TRUE(absl::IsFailedPrecondition(Find().status())) << answer;
  }
}

TEST_F(FindUserTest, WithoutGroupsThereIsNoUser) {
  runner_.Answers(kGetent, "ann:x:1000:1000::/home/ann:/bin/bash\n");
  runner_.NowFails(kId, 1, "id: cannot find name for user ID\x1b");
  const absl::Status status = Find().status();
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("\\x1b"));
}

TEST_F(FindUserTest, NamesThatAreOptionsNumbersOrPathsNeverReachAProgram) {
  for (const char* const name : {"", "-i", "0", "+0", "../etc", "a b", "a;b",
                                 "a\nb", "ann@corp", "a%h"}) {
    EXPECT_TRUE(absl::IsInvalidArgument(Find(name).status())) << name;
  }
  EXPECT_TRUE(absl::IsInvalidArgument(Find(std::string(33, 'a')).status()));
  EXPECT_THAT(runner_.commands(), testing::IsEmpty());
}

// Uses this machine's own users: only root can become them.
class BecomeUserTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (geteuid() != 0) GTEST_SKIP() << "only root can become somebody else";
  }
  CommandResult Run(const std::string& script) {
    PosixCommandRunner runner("/opt/lib");
    Command command = {{"/bin/sh", "-c", script}, kPatience};
    command.as = RunAs{"nobody", 65534, 65534, {65534, 12345}, "/nonexistent"};
    const auto result = runner.Run(command);
    EXPECT_TRUE(result.ok()) << result.status();
    return result.ok() ? *result : CommandResult();
  }
};

TEST_F(BecomeUserTest, TheProgramIsTheUserInEveryWay) {
  const std::string status =
      Run("grep -E '^(Uid|Gid|CapEff|CapPrm|NoNewPrivs):' /proc/self/status")
          .standard_output;
  EXPECT_THAT(status, HasSubstr("Uid:\t65534\t65534\t65534\t65534\n"));
  EXPECT_THAT(status, HasSubstr("Gid:\t65534\t65534\t65534\t65534\n"));
  EXPECT_THAT(status, HasSubstr("CapPrm:\t0000000000000000\n"));
  EXPECT_THAT(status, HasSubstr("CapEff:\t0000000000000000\n"));
  EXPECT_THAT(status, HasSubstr("NoNewPrivs:\t1\n"));
  EXPECT_EQ(Run("id -G").standard_output, "65534 12345\n");
}

TEST_F(BecomeUserTest, WhatOnlyRootMayReadStaysUnread) {
  ScratchRoot root;
  root.Write("/secret", "of root");
  const CommandResult result = Run("cat " + root.path() + "/secret");
  EXPECT_NE(result.exit_status, 0);
  EXPECT_EQ(result.standard_output, "");
}

TEST_F(BecomeUserTest, TheEnvironmentIsTheUsersAlone) {
  EXPECT_THAT(
      absl::StrSplit(Run("exec env").standard_output, '\n', absl::SkipEmpty()),
      UnorderedElementsAre(kSearchPath, "LC_ALL=C", "HOME=/nonexistent",
                           "USER=nobody", "LOGNAME=nobody", "PWD=/"));
}

TEST_F(BecomeUserTest, ItHasASessionOfItsOwnAndNoTerminal) {
  const CommandResult result =
      Run("cut -d' ' -f1,5,6,7 /proc/$$/stat; pwd; : </dev/tty");
  const std::vector<std::string> lines =
      absl::StrSplit(result.standard_output, '\n');
  const std::vector<std::string> numbers = absl::StrSplit(lines[0], ' ');
  ASSERT_EQ(numbers.size(), 4u);  // Process, group, session, terminal.
  EXPECT_EQ(numbers[0], numbers[1]);
  EXPECT_EQ(numbers[0], numbers[2]);
  EXPECT_EQ(numbers[3], "0");
  EXPECT_EQ(lines[1], "/");
  EXPECT_NE(result.exit_status, 0);
}

TEST_F(BecomeUserTest, ItsMemoryHasABound) {
  EXPECT_EQ(Run("ulimit -v").standard_output, "131072\n");
}

TEST_F(BecomeUserTest, TheDeadlineEndsItAsAnyOther) {
  PosixCommandRunner runner("", /*kill_grace=*/kPatience);
  Command command = {{"/bin/sleep", "1000"}, absl::Milliseconds(100)};
  command.as = RunAs{"nobody", 65534, 65534, {65534}, "/nonexistent"};
  const auto result = runner.Run(command).value();
  EXPECT_TRUE(result.timed_out);
  EXPECT_FALSE(result.left_running);
}

// Outside its process group and session, without our marks, and where no
// process adopts orphans.
TEST_F(BecomeUserTest, WhatItLeavesBehindEndsWithItsControlGroup) {
  ScratchRoot root("/tmp");  // The user may enter it.
  root.SetMode("", 0755);
  const std::string pipe = root.path() + "/held";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0666), 0);
  root.SetMode("/held", 0666);
  const int held = open(pipe.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  ASSERT_GE(held, 0);
  ASSERT_EQ(fcntl(held, F_SETFL, 0), 0);
  const std::string groups =
      Run(absl::StrCat("exec 9>", pipe,
                       "; cat /proc/self/cgroup; "
                       "setsid -f env -i sleep 1000 >/dev/null 2>&1"))
          .standard_output;
  const bool has_group = absl::StrContains(groups, "/program-");
  EXPECT_EQ(has_group, CheckProgramGroups().ok()) << CheckProgramGroups();
  if (!has_group) {
    close(held);
    GTEST_SKIP() << "no control groups to be had";
  }
  // The read ends once no process holds the pipe.
  char byte;
  EXPECT_EQ(read(held, &byte, 1), 0);
  close(held);
}

// setresuid(2) takes 4294967295 for "unchanged".
TEST_F(BecomeUserTest, AUserOrGroupWithTheLastNumberIsNobodyAndNeverRoot) {
  constexpr uint32_t kLast = 4294967295;
  for (const RunAs& as : {RunAs{"ann", kLast, 1000, {1000}, "/"},
                          RunAs{"ann", 1000, kLast, {1000}, "/"}}) {
    Command command = {{"/bin/true"}, kPatience};
    command.as = as;
    const auto result = PosixCommandRunner().Run(command);
    EXPECT_TRUE(absl::IsFailedPrecondition(result.status()))
        << as.uid << ":" << as.gid << " " << result.status();
  }
}

TEST_F(BecomeUserTest, WhoIsNotRootBecomesNobodyElse) {
  const pid_t pid = fork();
  if (pid == 0) {
    if (setresuid(65534, 65534, 65534) != 0) _exit(3);
    Command command = {{"/bin/true"}, kPatience};
    command.as = RunAs{"daemon", 1, 1, {1}, "/"};
    _exit(absl::IsFailedPrecondition(PosixCommandRunner().Run(command).status())
              ? 0
              : 4);
  }
  int status = 0;
  ASSERT_EQ(waitpid(pid, &status, 0), pid);
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST(CheckProgramGroupsTest, SaysWhyThereAreNoneAndWhatSurvives) {
  ScratchRoot root;
  const auto why = [&root] {
    const absl::Status status = CheckProgramGroups(root.path());
    EXPECT_TRUE(absl::IsUnimplemented(status)) << status;
    EXPECT_THAT(std::string(status.message()),
                AllOf(HasSubstr("survive"), Not(HasSubstr("\n"))));
    return std::string(status.message());
  };
  EXPECT_THAT(why(), HasSubstr("in no control group of version 2"));
  root.Write("/proc/self/cgroup", "9:pids:/other\n0::/unit\n");
  EXPECT_THAT(why(), HasSubstr("in no control group of version 2"));
  const std::string own = "/sys/fs/cgroup/unit/";
  root.Write(own + "cgroup.controllers", "");
  EXPECT_THAT(why(), HasSubstr("no cgroup.kill, expected Linux 5.14"));
  // The group cannot be made; the previous call has left none.
  root.Write(absl::StrCat(own, "program-", getpid()), "");
  EXPECT_THAT(why(), HasSubstr("/sys/fs/cgroup/unit: File exists"));
}

// The user traces its own programs. The tracer hides a program's end until it
// calls wait(2): the parent can kill the program and never sees it end. A
// reader of a user's unresponsive file system looks the same, with more setup.
class TracedProgramTest : public ::testing::Test {
 protected:
  TracedProgramTest() {
    for (const std::string& pipe : {pids_, goes_on_}) {
      EXPECT_EQ(mkfifo(pipe.c_str(), 0600), 0);
    }
  }

  void SetUp() override {
    const pid_t child = fork();
    if (child == 0) pause();
    const bool may = ptrace(PTRACE_SEIZE, child, 0, 0) == 0;
    kill(child, SIGKILL);
    ASSERT_EQ(waitpid(child, nullptr, __WALL), child);
    if (!may) GTEST_SKIP() << "tracing is not permitted";
  }

  // Returns a program that prints its pid, and ends when it is traced.
  Command Traced(absl::Duration deadline) const {
    Command command = {
        {"/bin/sh", "-c",
         absl::StrCat("echo $$ >", pids_, "; read x <", goes_on_, "; exit 3")},
        deadline};
    command.as = RunAs{"ann", geteuid(), getegid(), {getegid()}, "/"};
    return command;
  }
  // Called by the process that runs the programs: the tracer releases all.
  void LetGo() const { std::ofstream(pids_) << "0\n"; }
  static bool IsTraced(int pid) {
    std::ifstream status(absl::StrCat("/proc/", pid, "/status"));
    for (std::string line; std::getline(status, line);) {
      if (absl::StartsWith(line, "TracerPid:")) return line != "TracerPid:\t0";
    }
    return false;
  }

  // Runs `daemon` in another process, traces every program whose pid it reads,
  // and returns the result of `daemon`.
  int Run(const std::function<int()>& daemon) const {
    const int pids = open(pids_.c_str(), O_RDWR | O_CLOEXEC);
    const int goes_on = open(goes_on_.c_str(), O_RDWR | O_CLOEXEC);
    const pid_t pid = fork();
    if (pid == 0) {
      const int status = daemon();
      LetGo();
      _exit(status);
    }
    std::FILE* const lines = fdopen(pids, "r");
    std::vector<pid_t> traced;
    for (int each; std::fscanf(lines, "%d", &each) == 1 && each > 0;) {
      // A program that reached its deadline is gone.
      if (ptrace(PTRACE_SEIZE, each, 0, 0) != 0) continue;
      traced.push_back(each);
      EXPECT_EQ(write(goes_on, "\n", 1), 1);
    }
    for (const pid_t each : traced) waitpid(each, nullptr, __WALL);
    int status = -1;
    EXPECT_EQ(waitpid(pid, &status, 0), pid);
    std::fclose(lines);
    close(goes_on);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

  const ScratchRoot root_;
  const std::string pids_ = root_.path() + "/pids";
  const std::string goes_on_ = root_.path() + "/goes_on";
};

// If the deadline passes before the program is traced, the next is longer.
TEST_F(TracedProgramTest, NothingMoreRunsAsAUserOfWhoseProgramsEightDoNotEnd) {
  constexpr int kMost = 8;
  const int status = Run([&]() -> int {
    PosixCommandRunner runner("", /*kill_grace=*/absl::Milliseconds(1));
    absl::Duration deadline = absl::Milliseconds(100);
    int left = 0;
    const bool refused = WaitUntil([&] {
      const auto result = runner.Run(Traced(deadline));
      if (!result.ok()) {
        return absl::IsUnavailable(result.status()) && left >= kMost;
      }
      const bool is_traced = result->left_running && IsTraced(result->pid);
      left += is_traced ? 1 : 0;
      if (!is_traced && result->timed_out) deadline *= 2;
      return left > kMost;
    });
    if (!refused || left != kMost) return 1;
    Command others = {{"/bin/true"}, kPatience};
    if (!runner.Run(others).ok()) return 2;
    others.as = RunAs{"bob", 65534, 65534, {65534}, "/"};
    if (absl::IsUnavailable(runner.Run(others).status())) return 3;
    LetGo();
    others.as = Traced(deadline).as;
    return WaitUntil([&] { return runner.Run(others).ok(); }) ? 0 : 4;
  });
  EXPECT_EQ(status, 0);
}

TEST_F(TracedProgramTest, AnEndThatATracerHidesKeepsNoCoreBusy) {
  const int status = Run([&]() -> int {
    absl::Duration deadline = absl::Milliseconds(100);
    while (deadline < kPatience) {
      timespec before, after;
      clock_gettime(CLOCK_THREAD_CPUTIME_ID, &before);
      const auto result = PosixCommandRunner().Run(Traced(deadline));
      clock_gettime(CLOCK_THREAD_CPUTIME_ID, &after);
      if (!result.ok()) return 1;
      deadline *= 2;
      if (!result->left_running || !IsTraced(result->pid)) continue;
      LetGo();
      const absl::Duration busy = absl::DurationFromTimespec(after) -
                                  absl::DurationFromTimespec(before);
      return busy < result->elapsed / 10 ? 0 : 2;
    }
    return 3;
  });
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace clusterd
