// Uses real mount namespaces: as root, where the kernel allows them.
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <thread>

#include "absl/time/time.h"
#include "daemon/host/command/posix_command_runner.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/host/scratch_root.h"
#include "tests/support/wait/patience.h"
#include "tests/support/wait/test_file.h"

namespace clusterd {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kText[] = "address_0=10.20.0.17\n";

class PrivateViewTest : public ::testing::Test {
 protected:
  PrivateViewTest() {
    root_.Write("/etc/hccn.conf", kText);
    root_.Write("/elsewhere/note", "");
  }

  // The script gets the file as $1 and a writable folder as $2.
  absl::StatusOr<CommandResult> Run(const std::string& script,
                                    absl::Duration deadline = kPatience) {
    PosixCommandRunner runner;
    Command command = {
        {"/bin/sh", "-c", script, "sh", file_, root_.path() + "/elsewhere"},
        deadline};
    command.instead = PrivateFile{file_, "from the copy\n", 0640};
    return runner.Run(command);
  }
  // Skips the test where no view can be made.
  void SetUp() override {
    const auto tried = Run("true");
    if (absl::IsFailedPrecondition(tried.status())) {
      GTEST_SKIP() << tried.status();
    }
    ASSERT_TRUE(tried.ok()) << tried.status();
    ASSERT_EQ(stat(file_.c_str(), &before_), 0);
  }
  void ExpectUntouched() {
    struct stat after;
    ASSERT_EQ(stat(file_.c_str(), &after), 0);
    EXPECT_EQ(after.st_dev, before_.st_dev);
    EXPECT_EQ(after.st_ino, before_.st_ino);
    EXPECT_EQ(after.st_mode, before_.st_mode);
    EXPECT_EQ(after.st_size, before_.st_size);
    EXPECT_EQ(absl::TimeFromTimespec(after.st_mtim),
              absl::TimeFromTimespec(before_.st_mtim));
    EXPECT_EQ(absl::TimeFromTimespec(after.st_ctim),
              absl::TimeFromTimespec(before_.st_ctim));
    EXPECT_EQ(TextOfFile(file_), kText);
  }

  ScratchRoot root_;
  const std::string file_ = root_.path() + "/etc/hccn.conf";
  struct stat before_ = {};
};

TEST_F(PrivateViewTest, TheProgramWritesTheCopyAndTheRealInodeIsUntouched) {
  const auto run = Run(
      R"(cat "$1"; stat -c %a:%u "$1"; echo written >>"$1"; cat "$1"
         : >"$1"; echo anew >"$1"; cat "$1")");
  ASSERT_TRUE(run.ok()) << run.status();
  EXPECT_EQ(run->standard_output,
            "from the copy\n640:0\nfrom the copy\nwritten\nanew\n")
      << run->standard_error;
  ExpectUntouched();
}

TEST_F(PrivateViewTest, TheFolderAroundTheFileIsReadOnly) {
  const auto run = Run(
                       R"(echo new 2>/dev/null >"${1%/*}/new" && echo made
         mv "$2/note" "$1" 2>/dev/null && echo moved
         rm -f "$1" 2>/dev/null && echo removed
         echo yes >"$2/mark")")
                       .value();
  EXPECT_EQ(run.standard_output, "");
  EXPECT_EQ(TextOfFile(root_.path() + "/elsewhere/mark"), "yes\n");
  EXPECT_FALSE(std::filesystem::exists(root_.path() + "/etc/new"));
  ExpectUntouched();
}

// The kernel removes our mount together with the file below it.
TEST_F(PrivateViewTest, AFileThatTakesItsPlaceMeanwhileIsNotWrittenEither) {
  const std::string begun = root_.path() + "/elsewhere/begun";
  const std::string replaced = root_.path() + "/elsewhere/replaced";
  std::thread other([&] {
    EXPECT_TRUE(WaitUntil([&] { return std::filesystem::exists(begun); }));
    root_.Write("/etc/next", "the next file\n");
    std::filesystem::rename(root_.path() + "/etc/next", file_);
    root_.Write("/elsewhere/replaced", "");
  });
  const auto run = Run(
      R"(: >"$2/begun"; until [ -e "$2/replaced" ]; do sleep 0.01; done
         echo written >>"$1"; echo end)");
  root_.Write("/elsewhere/begun", "");
  other.join();
  ASSERT_TRUE(run.ok()) << run.status();
  EXPECT_EQ(run->standard_output, "end\n") << run->standard_error;
  EXPECT_EQ(TextOfFile(file_), "the next file\n");
}

TEST_F(PrivateViewTest, LeavesNothingBehindWhenItIsKilled) {
  const bool was_there = std::filesystem::exists("/run/copy");
  // Retries determine how long a write takes on this machine.
  const auto has_written = [&] {
    return std::filesystem::exists(root_.path() + "/elsewhere/written");
  };
  for (absl::Duration deadline = absl::Milliseconds(300);
       !has_written() && deadline < 2 * kPatience; deadline *= 2) {
    const auto run =
        Run(R"(echo written >>"$1"; : >"$2/written"; sleep 1000)", deadline);
    ASSERT_TRUE(run.ok()) << run.status();
    EXPECT_TRUE(run->timed_out);
  }
  EXPECT_TRUE(has_written());
  EXPECT_THAT(TextOfFile("/proc/self/mountinfo"), Not(HasSubstr(file_)));
  EXPECT_EQ(std::filesystem::exists("/run/copy"), was_there);
  ExpectUntouched();
}

TEST_F(PrivateViewTest, FollowsALinkToTheFile) {
  const std::string link = root_.path() + "/link.conf";
  std::filesystem::create_symlink(file_, link);
  PosixCommandRunner runner;
  Command command = {
      {"/bin/sh", "-c", R"(echo written >>"$1"; cat "$1")", "sh", link},
      kPatience};
  command.instead = PrivateFile{link, "", 0644};
  const auto run = runner.Run(command).value();
  EXPECT_EQ(run.standard_output, "written\n");
  ExpectUntouched();
}

TEST_F(PrivateViewTest, RunsNothingWithoutTheRightToHaveOne) {
  const pid_t child = fork();
  if (child == 0) {
    std::filesystem::permissions(root_.path() + "/elsewhere",
                                 std::filesystem::perms::all);
    if (setuid(65534) != 0) _exit(9);
    _exit(absl::IsFailedPrecondition(Run(R"(: >"$2/ran")").status()) ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_FALSE(std::filesystem::exists(root_.path() + "/elsewhere/ran"));
  ExpectUntouched();
}

TEST(MakePrivateViewTest, RefusesAFileThatIsNotThere) {
  PosixCommandRunner runner;
  Command command = {{"/bin/true"}, kPatience};
  command.instead = PrivateFile{"/nowhere/hccn.conf", "", 0644};
  const auto run = runner.Run(command);
  EXPECT_TRUE(absl::IsFailedPrecondition(run.status())) << run.status();
  EXPECT_THAT(run.status().message(), HasSubstr("/nowhere/hccn.conf"));
}

}  // namespace
}  // namespace clusterd
