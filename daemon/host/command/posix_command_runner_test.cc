#include "daemon/host/command/posix_command_runner.h"

#include <fcntl.h>
#include <linux/prctl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <fstream>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "daemon/host/command/orphans.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/host/scratch_root.h"
#include "tests/support/wait/patience.h"

namespace clusterd {
namespace {

using ::testing::Each;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr absl::Duration kAmple = kPatience;
// Deadline for scripts that must reach it without any progress.
constexpr absl::Duration kShort = absl::Milliseconds(100);

absl::StatusOr<CommandResult> RunShell(const std::string& script,
                                       absl::Duration deadline = kAmple) {
  PosixCommandRunner runner("", /*kill_grace=*/kPatience);
  return runner.Run({{"/bin/sh", "-c", script}, deadline});
}

CommandResult MustRunShell(const std::string& script,
                           absl::Duration deadline = kAmple) {
  const absl::StatusOr<CommandResult> result = RunShell(script, deadline);
  EXPECT_TRUE(result.ok()) << result.status();
  return result.ok() ? *result : CommandResult();
}

bool Exists(const std::string& path) { return access(path.c_str(), F_OK) == 0; }

// Runs a script that never ends, and creates the file `mark` where the deadline
// should find it. Retries with longer deadlines, since a script that was killed
// before the mark proves nothing.
absl::StatusOr<CommandResult> RunPastMark(const std::string& script,
                                          const std::string& mark) {
  absl::Duration deadline = kShort;
  while (true) {
    absl::StatusOr<CommandResult> result = RunShell(script, deadline);
    if (!result.ok() || Exists(mark) || deadline > kAmple) return result;
    deadline *= 2;
  }
}

TEST(PosixCommandRunnerTest, KeepsBothStreamsApartAndReturnsTheStatus) {
  const CommandResult result = MustRunShell("echo data; echo trouble >&2");
  EXPECT_EQ(result.standard_output, "data\n");
  EXPECT_EQ(result.standard_error, "trouble\n");
  EXPECT_EQ(result.exit_status, 0);
  EXPECT_FALSE(result.timed_out);
  EXPECT_GT(result.pid, 0);
  EXPECT_EQ(MustRunShell("exit 13").exit_status, 13);
  const CommandResult killed = MustRunShell("kill -SEGV $$");
  EXPECT_EQ(killed.signal, SIGSEGV);
  EXPECT_FALSE(killed.timed_out);
  // Standard input is empty.
  EXPECT_EQ(MustRunShell("read answer; echo $?").standard_output, "1\n");
}

TEST(PosixCommandRunnerTest, PassesWordsAsTheyAre) {
  PosixCommandRunner runner;
  const auto result =
      runner.Run({{"/bin/echo", "$HOME `id`", "a  b", ""}, kAmple}).value();
  EXPECT_EQ(result.standard_output, "$HOME `id` a  b \n");
}

TEST(PosixCommandRunnerTest, GivesAMinimalEnvironment) {
  setenv("SECRET", "x", 1);
  setenv("LD_PRELOAD", "", 1);
  PosixCommandRunner runner("/usr/lib");
  const absl::StatusOr<CommandResult> result =
      runner.Run({{"/usr/bin/env"}, kAmple});
  unsetenv("LD_PRELOAD");
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->standard_output,
            "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
            "\nLC_ALL=C\n");
}

absl::StatusOr<CommandResult> RunVendorTool(absl::string_view libraries) {
  Command command = {{"/usr/bin/env"}, kAmple};
  command.needs_driver = true;
  return PosixCommandRunner(libraries).Run(command);
}

TEST(PosixCommandRunnerTest, TellsVendorToolsAloneWhereTheDriverIs) {
  const auto result = RunVendorTool("/usr/lib:/nowhere/lib64:/usr/bin").value();
  EXPECT_THAT(result.standard_output,
              EndsWith("\nLD_LIBRARY_PATH=/usr/lib:/usr/bin\n"));
  EXPECT_THAT(RunVendorTool("/nowhere")->standard_output,
              Not(HasSubstr("LD_LIBRARY_PATH")));
}

TEST(PosixCommandRunnerTest, RunsNoVendorToolWithLibrariesOfAnybodysMaking) {
  ScratchRoot root;
  root.Write("/lib64/libascend.so", "x");
  const std::string folder = root.path() + "/lib64";
  root.SetMode("/lib64", 0777);
  const absl::Status status = RunVendorTool(folder).status();
  EXPECT_TRUE(absl::IsPermissionDenied(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr(folder));
}

// A lease on the program's file blocks execve, as an absent file server would.
TEST(PosixCommandRunnerTest, BoundsTheWaitForAProgramThatDoesNotBegin) {
  ScratchRoot root;
  root.WriteProgram("/slow", "#!/bin/sh\necho ran\n");
  const std::string path = root.path() + "/slow";
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  ASSERT_GE(fd, 0);
  signal(SIGIO, SIG_IGN);
  if (fcntl(fd, F_SETLEASE, F_WRLCK) != 0) {
    close(fd);
    GTEST_SKIP() << "no leases on this file system";
  }
  const absl::StatusOr<CommandResult> result =
      PosixCommandRunner().Run({{path}, absl::Milliseconds(200)});
  close(fd);
  signal(SIGIO, SIG_DFL);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_TRUE(result->timed_out);
  EXPECT_EQ(result->standard_output, "");
  // Otherwise the kernel has broken the lease, which ended the wait.
  int lease_seconds = 0;
  ASSERT_TRUE(std::ifstream("/proc/sys/fs/lease-break-time") >> lease_seconds);
  EXPECT_LT(result->elapsed, absl::Seconds(lease_seconds));
}

TEST(PosixCommandRunnerTest, LeavesNoDescriptorsToTheChild) {
  // Without O_CLOEXEC, as a careless library does.
  const int leaked = open("/dev/null", O_RDONLY);
  ASSERT_GT(leaked, 2);
  const CommandResult result = MustRunShell("ls /proc/self/fd");
  close(leaked);
  // ls itself opens 3.
  EXPECT_EQ(result.standard_output, "0\n1\n2\n3\n");
}

TEST(PosixCommandRunnerTest, ResetsSignals) {
  signal(SIGPIPE, SIG_IGN);
  const CommandResult result = MustRunShell("kill -PIPE $$; echo ignored");
  signal(SIGPIPE, SIG_DFL);
  EXPECT_EQ(result.signal, SIGPIPE);
}

TEST(PosixCommandRunnerTest, TellsWhyAProgramCannotStart) {
  ScratchRoot root;
  root.Write("/data", "x");
  root.WriteProgram("/rubbish", "\x7f\x01rubbish");
  root.WriteProgram("/orphan", "#!/no/such/shell\n");
  PosixCommandRunner runner;
  const auto code = [&](const std::string& program) {
    return runner.Run({{program}, kAmple}).status().code();
  };
  EXPECT_EQ(code("/no/such/program"), absl::StatusCode::kNotFound);
  EXPECT_EQ(code(root.path() + "/data"), absl::StatusCode::kPermissionDenied);
  EXPECT_EQ(code(root.path() + "/rubbish"),
            absl::StatusCode::kPermissionDenied);
  EXPECT_EQ(code(root.path() + "/orphan"), absl::StatusCode::kNotFound);
  EXPECT_EQ(code(root.path()), absl::StatusCode::kPermissionDenied);
}

TEST(PosixCommandRunnerTest, RejectsWordsThatExecWouldNotTake) {
  PosixCommandRunner runner;
  EXPECT_TRUE(absl::IsInvalidArgument(runner.Run({{}, kAmple}).status()));
  EXPECT_TRUE(absl::IsInvalidArgument(runner.Run({{"sh"}, kAmple}).status()));
  EXPECT_TRUE(absl::IsInvalidArgument(
      runner.Run({{"/bin/echo", std::string("a\0b", 3)}, kAmple}).status()));
}

TEST(PosixCommandRunnerTest, KillsAtTheDeadlineAndKeepsWhatWasSaid) {
  ScratchRoot root;
  const std::string mark = root.path() + "/said";
  const absl::StatusOr<CommandResult> result = RunPastMark(
      absl::StrCat("echo before; : >", mark, "; sleep 1000; echo after"), mark);
  ASSERT_TRUE(result.ok()) << result.status();
  ASSERT_TRUE(Exists(mark));
  EXPECT_TRUE(result->timed_out);
  EXPECT_FALSE(result->left_running);
  EXPECT_EQ(result->signal, SIGKILL);
  EXPECT_EQ(result->standard_output, "before\n");
  EXPECT_GE(result->elapsed, kShort);
}

TEST(PosixCommandRunnerTest, KillsAProgramThatIgnoresSignals) {
  ScratchRoot root;
  const std::string mark = root.path() + "/ignores";
  const absl::StatusOr<CommandResult> result = RunPastMark(
      absl::StrCat("trap '' TERM INT HUP; : >", mark, "; sleep 1000"), mark);
  ASSERT_TRUE(result.ok()) << result.status();
  ASSERT_TRUE(Exists(mark));
  EXPECT_TRUE(result->timed_out);
  EXPECT_EQ(result->signal, SIGKILL);
}

TEST(PosixCommandRunnerTest, StartsNothingWithoutTime) {
  ScratchRoot root;
  const CommandResult result = MustRunShell(
      absl::StrCat("touch ", root.path(), "/ran"), absl::ZeroDuration());
  EXPECT_TRUE(result.timed_out);
  EXPECT_FALSE(Exists(root.path() + "/ran"));
}

TEST(PosixCommandRunnerTest, DrainsAllOutputAndKeepsAsMuchAsIsAskedFor) {
  // More than a pipe holds.
  const CommandResult both = MustRunShell(
      "head -c 300000 /dev/zero; head -c 300000 /dev/zero >&2; echo end");
  EXPECT_EQ(both.standard_output.size(), 300004u);
  EXPECT_EQ(both.standard_error.size(), 300000u);
  EXPECT_FALSE(both.output_cut);
  const CommandResult cut = MustRunShell("head -c 3000000 /dev/zero; exit 7");
  EXPECT_TRUE(cut.output_cut);
  EXPECT_EQ(cut.standard_output.size(), kMaxStreamBytes);
  EXPECT_EQ(cut.exit_status, 7);
  Command command{{"/bin/sh", "-c", "head -c 3000000 /dev/zero"}, kAmple};
  command.max_stream_bytes = 4 << 20;
  const auto whole = PosixCommandRunner().Run(command).value();
  EXPECT_FALSE(whole.output_cut);
  EXPECT_EQ(whole.standard_output.size(), 3000000u);
}

TEST(PosixCommandRunnerTest, EndsEndlessOutputAtTheDeadline) {
  const CommandResult result = MustRunShell("yes", kShort);
  EXPECT_TRUE(result.timed_out);
  EXPECT_LE(result.standard_output.size(), kMaxStreamBytes);
}

// Returns the pid that the script printed.
int PrintedPid(const CommandResult& result) {
  return std::atoi(result.standard_output.c_str());
}

// Returns whether it is gone or a zombie.
bool HasEnded(int pid) {
  const int fd = open(absl::StrCat("/proc/", pid, "/stat").c_str(), O_RDONLY);
  if (fd < 0) return true;
  char text[512] = {};
  const bool was_read = read(fd, text, sizeof(text) - 1) > 0;
  close(fd);
  const std::vector<std::string> parts =
      absl::StrSplit(text, absl::MaxSplits(") ", 1));
  return !was_read || parts.size() < 2 || parts[1][0] == 'Z' ||
         parts[1][0] == 'X';
}

// Waits for the kernel to carry out a SIGKILL that was sent.
bool EndsSoon(int pid) {
  return WaitUntil([pid] { return HasEnded(pid); });
}

// The grandchildren outlive any command, so that a runner that waited for them
// would reach the deadline.
TEST(PosixCommandRunnerTest, DoesNotWaitForAGrandchildThatHoldsThePipes) {
  const CommandResult result = MustRunShell("sleep 1000 & echo $!; exit 3");
  EXPECT_EQ(result.exit_status, 3);
  EXPECT_FALSE(result.timed_out);
  ASSERT_GT(PrintedPid(result), 0);
  EXPECT_TRUE(EndsSoon(PrintedPid(result)));
}

TEST(PosixCommandRunnerTest, DoesNotWaitForAGrandchildThatWritesForEver) {
  const CommandResult result = MustRunShell("yes & exit 3");
  EXPECT_EQ(result.exit_status, 3);
  EXPECT_FALSE(result.timed_out);
}

TEST(PosixCommandRunnerTest, KillsGrandchildrenAtTheDeadline) {
  ScratchRoot root;
  const std::string mark = root.path() + "/begun";
  const absl::StatusOr<CommandResult> result = RunPastMark(
      absl::StrCat("sleep 1000 & echo $!; : >", mark, "; wait"), mark);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_TRUE(result->timed_out);
  ASSERT_GT(PrintedPid(*result), 0);
  EXPECT_TRUE(EndsSoon(PrintedPid(*result)));
}

// Returns the beginning of a script that starts an endless process in another
// group, prints its pid, and continues once it has left the script's group.
std::string StartInAnotherGroup(const ScratchRoot& root,
                                const std::string& how = "setsid") {
  const std::string left = root.path() + "/left";
  const std::string never = root.path() + "/never";
  return absl::StrCat("rm -f ", left, "; [ -e ", never, " ] || mkfifo ", never,
                      "; ", how, " /bin/sh -c ': >", left, "; read x <>", never,
                      "' & echo $!; until [ -e ", left,
                      " ]; do sleep 0.01; done; ");
}

TEST(PosixCommandRunnerTest, DoesNotWaitForAGrandchildInAnotherGroup) {
  ScratchRoot root;
  const CommandResult result =
      MustRunShell(absl::StrCat(StartInAnotherGroup(root), "exit 4"));
  EXPECT_EQ(result.exit_status, 4);
  EXPECT_FALSE(result.timed_out);
  ASSERT_GT(PrintedPid(result), 1);
  EXPECT_FALSE(HasEnded(PrintedPid(result)));
  kill(PrintedPid(result), SIGKILL);
}

// Runs `body` in a separate process that adopts all children, as a daemon does.
// Returns what `body` did.
int InDaemon(const std::function<int()>& body) {
  const pid_t daemon = fork();
  if (daemon == 0) _exit(AdoptOrphans().ok() ? body() : 2);
  int status = -1;
  EXPECT_EQ(waitpid(daemon, &status, 0), daemon);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

// Runs the script in a daemon, which exits 0 if the printed pid has ended. With
// a `mark` the script reaches its deadline after creating that file.
void RunAsDaemon(const std::string& script, int exit_status,
                 const std::string& mark = "") {
  const int status = InDaemon([&] {
    const absl::StatusOr<CommandResult> result =
        mark.empty() ? RunShell(script) : RunPastMark(script, mark);
    if (!result.ok() || result->exit_status != exit_status ||
        result->timed_out == mark.empty()) {
      return 3;
    }
    return PrintedPid(*result) > 1 && EndsSoon(PrintedPid(*result)) ? 0 : 4;
  });
  EXPECT_EQ(status, 0) << script;
}

TEST(PosixCommandRunnerTest, EndsAGrandchildInAnotherGroup) {
  ScratchRoot root;
  RunAsDaemon(absl::StrCat(StartInAnotherGroup(root), "exit 4"), 4);
  // This one may be about to leave the group, or to become a program.
  RunAsDaemon("setsid sleep 1000 & echo $!; exit 4", 4);
  // This one's parent has gone, too.
  RunAsDaemon(
      "setsid sh -c 'sleep 1000 >/dev/null 2>&1 & echo $!' | cat; exit 5", 5);
}

TEST(PosixCommandRunnerTest, EndsAGrandchildWhateverEnvironmentItHas) {
  ScratchRoot root;
  RunAsDaemon(
      absl::StrCat(StartInAnotherGroup(root, "setsid env -i"), "exit 4"), 4);
}

// Makes this process's environment 8 TB long, which needs no privilege
// (prctl(2), PR_SET_MM_MAP). False: this kernel refuses it.
bool ClaimEndlessEnvironment() {
  constexpr size_t kBytes = size_t{8} << 40;
  void* const zeros = mmap(nullptr, kBytes, PROT_READ,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  std::ifstream file("/proc/self/stat");
  std::string word;
  while (file >> word && word.back() != ')') continue;
  std::vector<uint64_t> fields(3);  // pid, name, state.
  file >> word;
  for (uint64_t field; file >> field;) fields.push_back(field);
  if (zeros == MAP_FAILED || fields.size() < 51) return false;
  const auto at = [&](size_t number) { return fields[number - 1]; };
  prctl_mm_map map = {};
  map.start_code = at(26);
  map.end_code = at(27);
  map.start_data = at(45);
  map.end_data = at(46);
  map.start_brk = at(47);
  map.brk = reinterpret_cast<uint64_t>(sbrk(0));
  map.start_stack = at(28);
  map.arg_start = at(48);
  map.arg_end = at(49);
  map.env_start = reinterpret_cast<uint64_t>(zeros);
  map.env_end = map.env_start + kBytes;
  map.exe_fd = static_cast<uint32_t>(-1);
  return prctl(PR_SET_MM, PR_SET_MM_MAP, &map, sizeof(map), 0) == 0;
}

// A user's program may leave such an orphan: reading it would take hours.
TEST(PosixCommandRunnerTest, AnOrphanWithAnEndlessEnvironmentStopsNoCommand) {
  int ready[2];
  ASSERT_EQ(pipe2(ready, O_CLOEXEC), 0);
  const pid_t daemon = fork();
  if (daemon == 0) {
    if (!AdoptOrphans().ok()) _exit(2);
    const pid_t middle = fork();
    if (middle == 0) {
      const pid_t orphan = fork();
      if (orphan != 0) _exit(0);
      const char claims = ClaimEndlessEnvironment() ? 'y' : 'n';
      (void)!write(ready[1], &claims, 1);
      while (claims == 'y') pause();
      _exit(0);
    }
    waitpid(middle, nullptr, 0);
    close(ready[1]);
    char claims = 'n';
    if (read(ready[0], &claims, 1) != 1) _exit(3);
    if (claims != 'y') _exit(77);
    const auto result = RunShell("exit 4");
    if (!result.ok() || result->exit_status != 4) _exit(4);
    // The pipe ends with the last process that has it open.
    _exit(read(ready[0], &claims, 1) == 0 ? 0 : 5);
  }
  close(ready[1]);
  close(ready[0]);
  int status = -1;
  ASSERT_EQ(waitpid(daemon, &status, 0), daemon);
  if (WEXITSTATUS(status) == 77) GTEST_SKIP() << "no PR_SET_MM_MAP here";
  EXPECT_EQ(status, 0);
}

TEST(PosixCommandRunnerTest, GivesAnInputThatCanBeReadTwice) {
  Command command = {{"/bin/sh", "-c", "cat /proc/self/fd/0; cat"}, kAmple};
  command.input = "text\n";
  const auto result = PosixCommandRunner().Run(command).value();
  EXPECT_EQ(result.standard_output, "text\ntext\n");
}

TEST(PosixCommandRunnerTest, EndsAGrandchildInAnotherGroupAtTheDeadline) {
  ScratchRoot root;
  const std::string mark = root.path() + "/begun";
  RunAsDaemon(
      absl::StrCat(StartInAnotherGroup(root), ": >", mark, "; exec sleep 1000"),
      0, mark);
}

TEST(PosixCommandRunnerTest, TakesNoExitStatusFromAnotherCommand) {
  EXPECT_EQ(InDaemon([] {
              PosixCommandRunner runner;
              std::atomic<int> wrong{0};
              std::vector<std::thread> threads;
              for (int i = 0; i < 8; ++i) {
                threads.emplace_back([&runner, &wrong, i] {
                  const std::string script =
                      absl::StrCat("setsid true & exit ", i);
                  for (int round = 0; round < 10; ++round) {
                    const auto result =
                        runner.Run({{"/bin/sh", "-c", script}, kAmple});
                    if (!result.ok() || result->exit_status != i) ++wrong;
                  }
                });
              }
              for (std::thread& thread : threads) thread.join();
              return wrong == 0 ? 0 : 3;
            }),
            0);
}

// A running program still needs its background processes.
TEST(PosixCommandRunnerTest, EndsNoGrandchildOfACommandThatStillRuns) {
  const ScratchRoot root;
  const std::string begun = root.path() + "/begun";
  const std::string go_on = root.path() + "/go_on";
  const std::string done = root.path() + "/done";
  const std::string waits = "while ! [ -e ";
  const std::string sleeps = " ]; do sleep 0.01; done; ";
  const std::string script =
      absl::StrCat("( ( : >", begun, "; ", waits, go_on, sleeps, ": >", done,
                   " ) & ); ", waits, done, sleeps, "exit 7");
  EXPECT_EQ(
      InDaemon([&] {
        PosixCommandRunner runner;
        std::atomic<int> status{-1};
        std::thread command([&] {
          const auto result = runner.Run({{"/bin/sh", "-c", script}, kAmple});
          if (result.ok() && !result->timed_out) {
            status = result->exit_status;
          }
        });
        const bool has_begun = WaitUntil([&] { return Exists(begun); });
        const bool other = runner.Run({{"/bin/true"}, kAmple}).ok();
        std::ofstream(go_on) << "";
        command.join();
        return has_begun && other && status == 7 ? 0 : 3;
      }),
      0);
}

TEST(PosixCommandRunnerTest, LeavesNoChildBehindWhenItDies) {
  int said[2];
  ASSERT_EQ(pipe(said), 0);
  const pid_t daemon = fork();
  if (daemon == 0) {
    close(said[0]);
    // Reports its start, and then holds only the file of ours.
    (void)RunShell(absl::StrCat("echo x >/proc/", getpid(), "/fd/", said[1],
                                "; exec sleep 1000 9>/proc/", getpid(), "/fd/",
                                said[1]));
    _exit(1);
  }
  close(said[1]);
  char byte;
  ASSERT_EQ(read(said[0], &byte, 1), 1);
  kill(daemon, SIGKILL);
  ASSERT_EQ(waitpid(daemon, nullptr, 0), daemon);
  // The pipe ends once its last holder has ended.
  while (read(said[0], &byte, 1) > 0) {
  }
  close(said[0]);
}

TEST(PosixCommandRunnerTest, RunsManyAtOnce) {
  PosixCommandRunner runner;
  std::vector<std::string> outputs(16);
  std::vector<std::thread> threads;
  for (size_t i = 0; i < outputs.size(); ++i) {
    threads.emplace_back([&runner, &outputs, i] {
      const absl::StatusOr<CommandResult> result =
          runner.Run({{"/bin/echo", "same"}, kAmple});
      if (result.ok()) outputs[i] = result->standard_output;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_THAT(outputs, Each("same\n"));
}

// A child that cannot begin writes its errno where the thread has its own.
TEST(PosixCommandRunnerTest, TellsEachOfManyWhyItsOwnProgramDidNotStart) {
  PosixCommandRunner runner;
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (int i = 0; i < 12; ++i) {
    threads.emplace_back([&runner, &wrong, i] {
      for (int round = 0; round < 20; ++round) {
        const char* const program = i % 3 == 0   ? "/no/such"
                                    : i % 3 == 1 ? "/etc/passwd"
                                                 : "/bin/true";
        const absl::StatusCode expected =
            i % 3 == 0   ? absl::StatusCode::kNotFound
            : i % 3 == 1 ? absl::StatusCode::kPermissionDenied
                         : absl::StatusCode::kOk;
        const auto result = runner.Run({{program}, kAmple});
        wrong += result.status().code() != expected;
        wrong += result.ok() && result->exit_status != 0;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

TEST(PosixCommandRunnerTest, LeavesNoDescriptorsBehind) {
  const auto count_open = [] {
    int count = 0;
    for (int fd = 0; fd < 256; ++fd) count += fcntl(fd, F_GETFD) >= 0;
    return count;
  };
  MustRunShell("true");
  const int before = count_open();
  MustRunShell("sleep 50 & echo x");
  MustRunShell("sleep 50", kShort);
  RunShell("exit 1").status().IgnoreError();
  PosixCommandRunner runner;
  runner.Run({{"/no/such"}, kAmple}).status().IgnoreError();
  EXPECT_EQ(count_open(), before);
}

}  // namespace
}  // namespace clusterd
