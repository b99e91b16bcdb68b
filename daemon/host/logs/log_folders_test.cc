#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "daemon/host/command/clock.h"
#include "daemon/host/logs/read_logs.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/host/fake_clock.h"
#include "tests/support/host/fake_command_runner.h"
#include "tests/support/host/logged_command_runner.h"
#include "tests/support/host/scratch_root.h"

namespace clusterd {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// Has users ann (1000) and bob (1001), and the processes that a test adds.
class FindLogFoldersTest : public testing::Test {
 protected:
  FindLogFoldersTest() {
    root_.WriteProgram("/usr/bin/getent", "");
    root_.WriteProgram("/usr/bin/id", "");
    root_.WriteProgram("/usr/bin/head", "");
    root_.MakeFolder("/proc");
    root_.MakeFolder("/home");
    AddUser("ann", 1000, "/home/ann");
    AddUser("bob", 1001, "/data/bob");
    AddUser("root", 0, "/root");
  }

  void AddUser(const std::string& name, int uid, const std::string& home) {
    const std::string line =
        absl::StrCat(name, ":x:", uid, ":", uid, "::", home, ":/bin/sh\n");
    runner_.Answers(absl::StrCat("getent passwd ", name), line);
    runner_.Answers(absl::StrCat("getent passwd ", uid), line);
    runner_.Answers(absl::StrCat("id -G ", name), absl::StrCat(uid, "\n"));
  }

  // Blanks separate the variables.
  void AddProcess(int pid, int uid, std::string variables) {
    for (char& c : variables) c = c == ' ' ? '\0' : c;
    root_.Write(absl::StrCat("/proc/", pid, "/environ"), variables);
    if (uid != 0) runner_.Answers(Head(pid), variables);
    root_.Write(absl::StrCat("/proc/", pid, "/status"),
                absl::StrCat("Name:\tpython3\nPid:\t", pid, "\nUid:\t", uid,
                             "\t0\t0\t0\nGid:\t", uid + 5, "\t0\t0\t0\n"));
  }

  // Returns the command that reads the environment of a user's process.
  std::string Head(int pid) const {
    return absl::StrCat("head -c 262144 ", root_.path(), "/proc/", pid,
                        "/environ");
  }

  absl::StatusOr<LogFolders> Find(const std::string& user,
                                  const std::string& job) {
    LogsQuery query;
    query.set_user(user);
    query.set_job_id(job);
    const TimeBudget budget(&clock_, absl::Seconds(10), absl::Seconds(30));
    return FindLogFolders({root_.paths(), &ran_, &budget}, query);
  }

  ScratchRoot root_;
  FakeClock clock_;
  FakeCommandRunner runner_{&clock_};
  LoggedCommandRunner ran_{&runner_};
  const absl::Duration began_ = clock_.Monotonic();
};

TEST_F(FindLogFoldersTest, TakesTheFirstPlaceThatAJobsEnvironmentNames) {
  AddProcess(11, 1000, "SLURM_JOB_ID=7 ASCEND_PROCESS_LOG_PATH=/l/ HOME=/h");
  AddProcess(12, 1000, "SLURM_JOBID=7 ASCEND_WORK_PATH=/w HOME=/h");
  AddProcess(13, 1001, "PBS_JOBID=7 HOME=/h");
  AddProcess(14, 1001, "LSB_JOBID=7");
  AddProcess(15, 1000, "SLURM_JOB_ID=77 ASCEND_PROCESS_LOG_PATH=/other");
  AddProcess(16, 1000, "NOT_SLURM_JOB_ID=7 ASCEND_PROCESS_LOG_PATH=/other");
  const auto found = Find("", "7").value();
  ASSERT_THAT(found.folders, SizeIs(4));
  EXPECT_EQ(found.folders[0].path, "/l");
  EXPECT_EQ(found.folders[0].user.name, "ann");
  EXPECT_THAT(found.folders[0].from,
              HasSubstr("process 11, ASCEND_PROCESS_LOG_PATH"));
  EXPECT_EQ(found.folders[1].path, "/w/log");
  EXPECT_EQ(found.folders[2].path, "/h/ascend/log");
  EXPECT_EQ(found.folders[2].user.uid, 1001u);
  EXPECT_EQ(found.folders[3].path, "/data/bob/ascend/log");
}

// A user controls a process's answers: its environment may be 8 TB long, or its
// memory may lie in a file system of the user's own.
TEST_F(FindLogFoldersTest, AProcessThatDoesNotAnswerHidesNoOther) {
  AddProcess(11, 1001, "SLURM_JOB_ID=7 ASCEND_PROCESS_LOG_PATH=/l");
  AddProcess(12, 1000, "SLURM_JOB_ID=7 ASCEND_PROCESS_LOG_PATH=/other");
  runner_.NowHangs(Head(11));
  const auto found = Find("", "7").value();
  ASSERT_THAT(found.folders, SizeIs(1));
  EXPECT_EQ(found.folders[0].path, "/other");
  EXPECT_LE(clock_.Monotonic() - began_, absl::Seconds(1));
}

// A reader that cannot be killed then counts among that user's.
TEST_F(FindLogFoldersTest, WhatReadsTheMemoryOfAUsersProcessIsTheUser) {
  AddProcess(11, 1001, "SLURM_JOB_ID=7 ASCEND_PROCESS_LOG_PATH=/l");
  AddProcess(12, 0, "SLURM_JOB_ID=7");
  ASSERT_TRUE(Find("", "7").ok());
  std::vector<std::string> read_as;
  for (const LoggedCommand& each : ran_.commands()) {
    if (!absl::EndsWith(each.command.argv[0], "/head")) continue;
    const RunAs as = each.command.as.value_or(RunAs());
    read_as.push_back(absl::StrCat(as.uid, ":", as.gid));
  }
  EXPECT_THAT(read_as, ElementsAre("1001:1006"));
}

TEST_F(FindLogFoldersTest, KeepsToTheUserAskedFor) {
  AddProcess(11, 1000, "SLURM_JOB_ID=7 ASCEND_PROCESS_LOG_PATH=/l");
  AddProcess(12, 1001, "SLURM_JOB_ID=7 ASCEND_PROCESS_LOG_PATH=/l");
  const auto found = Find("bob", "7").value();
  ASSERT_THAT(found.folders, SizeIs(1));
  EXPECT_EQ(found.folders[0].user.name, "bob");
}

TEST_F(FindLogFoldersTest, ReadsNothingOfRootUnlessItIsNamed) {
  AddProcess(11, 0, "SLURM_JOB_ID=7 ASCEND_PROCESS_LOG_PATH=/tmp/trap");
  const auto found = Find("", "7").value();
  EXPECT_THAT(found.folders, IsEmpty());
  ASSERT_THAT(found.notes, SizeIs(1));
  EXPECT_EQ(found.notes[0].words(), "log-left-out-root");
  const auto named = Find("root", "").value();
  ASSERT_THAT(named.folders, SizeIs(1));
  EXPECT_EQ(named.folders[0].path, "/root/ascend/log");
}

TEST_F(FindLogFoldersTest, SaysOfAnEndedJobHowItIsFound) {
  EXPECT_THAT(std::string(Find("", "7").status().message()),
              HasSubstr("(--user) and time (--since)"));
  const auto found = Find("ann", "7").value();
  ASSERT_THAT(found.folders, SizeIs(1));
  EXPECT_EQ(found.folders[0].path, "/home/ann/ascend/log");
  ASSERT_THAT(found.notes, SizeIs(1));
  EXPECT_EQ(found.notes[0].words(), "log-all-of");
}

TEST_F(FindLogFoldersTest, LooksIntoTheFilesThatAProcessSees) {
  AddProcess(11, 1000, "SLURM_JOB_ID=7 ASCEND_PROCESS_LOG_PATH=/l");
  root_.Link("/proc/11/ns/mnt", "mnt:[2]");
  root_.Link("/proc/self/ns/mnt", "mnt:[1]");
  const auto found = Find("", "7").value();
  ASSERT_THAT(found.folders, SizeIs(1));
  EXPECT_EQ(found.folders[0].process_root, "/proc/11/root");
}

TEST_F(FindLogFoldersTest, TakesOnePathInTwoContainersForTwoFolders) {
  for (int pid : {11, 12, 13}) {
    AddProcess(pid, 1000, "SLURM_JOB_ID=7 ASCEND_PROCESS_LOG_PATH=/l");
    root_.Link(absl::StrCat("/proc/", pid, "/ns/mnt"),
               pid == 13 ? "mnt:[3]" : "mnt:[2]");
  }
  root_.Link("/proc/self/ns/mnt", "mnt:[1]");
  const auto found = Find("", "7").value();
  ASSERT_THAT(found.folders, SizeIs(2));
  EXPECT_EQ(found.folders[0].process_root, "/proc/11/root");
  EXPECT_EQ(found.folders[1].process_root, "/proc/13/root");
}

TEST_F(FindLogFoldersTest, PassesOverRelativePathsAndStrangeHomes) {
  AddProcess(11, 1000, "SLURM_JOB_ID=7 ASCEND_PROCESS_LOG_PATH=../../etc");
  const auto found = Find("", "7").value();
  EXPECT_THAT(found.folders, IsEmpty());
  ASSERT_THAT(found.notes, SizeIs(1));
  EXPECT_EQ(found.notes[0].words(), "log-not-absolute");
}

TEST_F(FindLogFoldersTest, WithoutUserAndJobTakesUsersWhoseHomesAreInHome) {
  root_.MakeFolder("/home/ann");
  root_.MakeFolder("/home/-rf");
  root_.MakeFolder("/home/root");
  const auto found = Find("", "").value();
  ASSERT_THAT(found.folders, SizeIs(1));
  EXPECT_EQ(found.folders[0].from, "home of ann");
}

TEST_F(FindLogFoldersTest, RefusesWordsThatAreNoUserOrJob) {
  EXPECT_TRUE(absl::IsInvalidArgument(Find("--help", "").status()));
  EXPECT_EQ(Find("0", "").status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(Find("", "7;id").status().code(),
            absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace clusterd
