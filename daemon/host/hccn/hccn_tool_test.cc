#include "daemon/host/hccn/hccn_tool.h"

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
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/host/fake_clock.h"
#include "tests/support/host/fake_command_runner.h"
#include "tests/support/host/scratch_root.h"
#include "tests/support/wait/patience.h"
#include "tests/support/wait/telling.h"

namespace clusterd {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr char kTool[] = "/usr/local/Ascend/driver/tools/hccn_tool";
constexpr char kIp[] = "hccn_tool -i 3 -ip -g";
constexpr char kLink[] = "hccn_tool -i 3 -link -g";
constexpr char kBusy[] = "hccn_tool is busy, please try again.\n";

TEST(LocateHccnToolTest, TakesTheDefaultPlaceOrTheInstallPath) {
  constexpr char kInfo[] = "/etc/ascend_install.info";
  ScratchRoot root;
  const absl::Status absent = LocateHccnTool(root.paths()).status();
  EXPECT_EQ(absent.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(absent, HasText("/usr/local"));
  root.WriteProgram(kTool, "#!/bin/sh\n");
  EXPECT_EQ(*LocateHccnTool(root.paths()), root.path() + kTool);
  // Anybody could replace it.
  root.SetMode("/usr/local/Ascend/driver/tools", 0777);
  EXPECT_TRUE(absl::IsPermissionDenied(LocateHccnTool(root.paths()).status()));
  root.Write(kInfo, "Driver_Install_Path_Param=/opt/x\n");
  root.WriteProgram("/opt/x/driver/tools/hccn_tool", "#!/bin/sh\n");
  EXPECT_EQ(*LocateHccnTool(root.paths()),
            root.path() + "/opt/x/driver/tools/hccn_tool");
  root.Write(kInfo, "Driver_Install_Path_Param=../x\n");
  EXPECT_TRUE(absl::IsInvalidArgument(LocateHccnTool(root.paths()).status()));
}

class HccnSessionTest : public ::testing::Test {
 protected:
  HccnSession& Session(
      NpuToolFacts::Generation generation = NpuToolFacts::CLASSIC) {
    session_.emplace(std::string(kTool), generation, 3, &runner_, &clock_,
                     &budget_, &turns_);
    return *session_;
  }
  // Asks in a new session.
  Missing MissingOf(const char* query) {
    return Session().Ask(query).missing.value_or(Missing());
  }

  FakeClock clock_;
  FakeCommandRunner runner_{&clock_};
  TimeBudget budget_{&clock_, absl::Seconds(10), absl::Seconds(30)};
  DeviceLocks turns_;
  std::optional<HccnSession> session_;
};

TEST_F(HccnSessionTest, ReturnsWhatTheToolPrints) {
  runner_.Answers(kLink, "link status: UP\n");
  const HccnAnswer answer = Session().Ask("-link");
  EXPECT_FALSE(answer.missing.has_value());
  EXPECT_EQ(answer.output, "link status: UP\n");
  EXPECT_EQ(answer.command, "`hccn_tool -i 3 -link -g`");
}

TEST_F(HccnSessionTest, RunsNothingForASkippedQuery) {
  ObserveRequest request;
  request.add_skip_queries("-optical");
  request.add_skip_queries("-cfg");
  HccnSession& session = Session();
  session.Skip(request.skip_queries());
  runner_.Answers(kLink, "link status: UP\n");
  EXPECT_EQ(session.Ask("-optical").missing->reason(), Missing::NOT_QUERIED);
  EXPECT_EQ(session.AskWith({"-i", "3", "-cfg", "status"}).missing->reason(),
            Missing::NOT_QUERIED);
  EXPECT_FALSE(session.Ask("-link").missing.has_value());
}

TEST_F(HccnSessionTest, AsksAnAscend950ToolInItsOwnWords) {
  runner_.Answers("hccn_tool -g -mtu -i 3 -d bond3", "mtu:1500\n");
  const HccnAnswer answer =
      Session(NpuToolFacts::ASCEND_950).Ask("-mtu", {"-d", "bond3"});
  EXPECT_FALSE(answer.missing.has_value());
  EXPECT_EQ(answer.command, "`hccn_tool -g -mtu -i 3 -d bond3`");
  EXPECT_EQ(answer.output, "mtu:1500\n");
}

TEST_F(HccnSessionTest, JudgesARunByTheGenerationsTexts) {
  const char kText[] =
      "permission denied: pls check this cmd run environment.\n";
  const char kDeviceInfo[] = "hccn_tool -g -dev_info -i 3";
  runner_.Fails(kDeviceInfo, 3, kText);
  runner_.Fails(kLink, 3, kText);
  EXPECT_EQ(
      Session(NpuToolFacts::ASCEND_950).Ask("-dev_info").missing->reason(),
      Missing::NOT_PERMITTED);
  EXPECT_EQ(Session().Ask("-link").missing->reason(), Missing::TOOL_FAILED);
}

TEST_F(HccnSessionTest, NoticesTheOtherGenerationsToolAndAsksItNothingMore) {
  runner_.Fails("hccn_tool -g -tls -i 3", 1,
                "Get invalid major cmd type. The valid major cmd type should "
                "be \"-a\" or \"-i\".\n");
  runner_.Fails(kLink, 2,
                "Please specify a valid mode.\n"
                "Enter [ hccn_tool -h ] for more details.\n");
  const struct {
    NpuToolFacts::Generation expected;
    const char* query;
    const char* is;
    const char* is_not;
    NpuToolFacts::Generation found;
  } kCases[] = {{NpuToolFacts::ASCEND_950, "-tls", "classic", "Ascend 950",
                 NpuToolFacts::CLASSIC},
                {NpuToolFacts::CLASSIC, "-link", "Ascend 950", "classic",
                 NpuToolFacts::ASCEND_950}};
  for (const auto& each : kCases) {
    SCOPED_TRACE(each.query);
    HccnSession& session = Session(each.expected);
    for (const char* query : {each.query, "-ip"}) {
      const Missing missing = session.Ask(query).missing.value_or(Missing());
      EXPECT_EQ(missing.reason(), Missing::TOOL_FAILED) << query;
      EXPECT_THAT(missing.detail(),
                  Tells("fact-other-tool", kAny, each.is, each.is_not));
    }
    EXPECT_EQ(session.generation(), each.found);
  }
  EXPECT_THAT(runner_.commands(), ElementsAre("hccn_tool -g -tls -i 3", kLink));
}

TEST_F(HccnSessionTest, TakesAnotherRefusalForNoOtherTool) {
  runner_.Fails("hccn_tool -g -ip -i 3 -d bond3", 14,
                "Bond device ID mismatch: name='bond3', expected 'bond4'.\n");
  HccnSession& session = Session(NpuToolFacts::ASCEND_950);
  const HccnAnswer answer = session.Ask("-ip", {"-d", "bond3"});
  EXPECT_THAT(answer.missing->detail(), HasSubstr("expected 'bond4'"));
  EXPECT_EQ(answer.missing->detail_words().words(), kHccnToolSaid);
  EXPECT_EQ(session.generation(), NpuToolFacts::ASCEND_950);
}

TEST_F(HccnSessionTest, TakesNoAddressForAnAnswerToItsQueryOnly) {
  const char kText[] = "Get ipconf failed, because no ip was preset there!\n";
  runner_.Fails(kIp, 13, kText);
  runner_.Fails(kLink, 13, kText);
  HccnSession& session = Session();
  const HccnAnswer address = session.Ask("-ip");
  EXPECT_FALSE(address.missing.has_value());
  EXPECT_EQ(address.failure, HccnFailure::kNoAddress);
  EXPECT_EQ(session.Ask("-link").missing->reason(), Missing::TOOL_FAILED);
}

TEST_F(HccnSessionTest, GivesAReasonForEveryFailure) {
  const std::pair<const char*, Missing::Reason> cases[] = {
      {"permission denied: pls check this cmd run permission.\n",
       Missing::NOT_PERMITTED},
      {"The command is not supported on this product.\n",
       Missing::NOT_SUPPORTED},
      {"Get invalid device id.\n", Missing::TOOL_FAILED},
      {"Command execute failed!\n", Missing::TOOL_FAILED},
      {"what is this\n", Missing::TOOL_FAILED},
  };
  for (const auto& [text, reason] : cases) {
    runner_.NowFails(kLink, 1, text);
    const HccnAnswer answer = Session().Ask("-link");
    ASSERT_TRUE(answer.missing.has_value()) << text;
    EXPECT_EQ(answer.missing->reason(), reason) << text;
    EXPECT_THAT(answer.missing->detail(), HasSubstr("`hccn_tool -i 3 -link"));
  }
}

TEST_F(HccnSessionTest, AsksABusyDeviceAgainFiveTimesAtMost) {
  runner_.Fails(kLink, 11, "", kBusy);
  runner_.Fails(kLink, 11, "", kBusy);
  runner_.Answers(kLink, "link status: UP\n");
  EXPECT_FALSE(Session().Ask("-link").missing.has_value());
  EXPECT_EQ(runner_.CountOf(kLink), 3);
  EXPECT_EQ(clock_.Monotonic(), absl::Milliseconds(600));
  runner_.NowFails(kLink, 11, "", kBusy);
  const Missing missing = MissingOf("-link");
  EXPECT_EQ(missing.reason(), Missing::BUSY);
  EXPECT_THAT(missing.detail(), HasSubstr("asked 5 times"));
  EXPECT_EQ(runner_.CountOf(kLink), 3 + 5);
  // Not beyond the host's time.
  clock_.Advance(absl::Milliseconds(29900) - clock_.Monotonic());
  EXPECT_EQ(MissingOf("-link").reason(), Missing::BUSY);
  EXPECT_EQ(runner_.CountOf(kLink), 3 + 5 + 1);
}

TEST_F(HccnSessionTest, AsksNothingMoreAfterSilence) {
  runner_.Hangs(kIp);
  HccnSession& session = Session();
  const HccnAnswer silent = session.Ask("-ip");
  EXPECT_EQ(silent.missing->reason(), Missing::TIMED_OUT);
  EXPECT_THAT(silent.missing->detail(),
              HasSubstr("no answer in 10s (deadlines.command)"));
  const HccnAnswer next = session.Ask("-link");
  EXPECT_EQ(next.missing->reason(), Missing::TIMED_OUT);
  EXPECT_THAT(next.missing->detail(), HasSubstr("`hccn_tool -i 3 -ip -g`"));
  EXPECT_THAT(runner_.commands(), ElementsAre(kIp));
}

TEST_F(HccnSessionTest, NamesTheHostsDeadlineAndAsksNothingAfterIt) {
  clock_.Advance(absl::Seconds(25));
  runner_.Hangs(kIp);
  EXPECT_THAT(MissingOf("-ip").detail(), HasSubstr("30s (deadlines.host)"));
  clock_.Advance(absl::Seconds(1));
  const Missing missing = MissingOf("-link");
  EXPECT_EQ(missing.reason(), Missing::TIMED_OUT);
  EXPECT_THAT(missing.detail(), HasSubstr("deadlines.host"));
  EXPECT_THAT(runner_.commands(), ElementsAre(kIp));
}

TEST_F(HccnSessionTest, StaysAwayFromADeviceWithAProcessLeftBehind) {
  runner_.HangsForEver(kIp, getpid());
  runner_.Answers(kLink, "link status: UP\n");
  EXPECT_THAT(MissingOf("-ip").detail(),
              HasSubstr(std::to_string(getpid()) + " cannot be killed"));
  const Missing missing = MissingOf("-link");
  EXPECT_EQ(missing.reason(), Missing::TIMED_OUT);
  EXPECT_THAT(missing.detail(), HasSubstr("cannot be killed"));
  EXPECT_EQ(runner_.CountOf(kLink), 0);
}

TEST_F(HccnSessionTest, WaitsForTheDeviceNoLongerThanTheHostHas) {
  const auto other = turns_.Take(3, absl::ZeroDuration());
  clock_.Advance(absl::Seconds(30));
  const Missing missing = MissingOf("-ip");
  EXPECT_EQ(missing.reason(), Missing::TIMED_OUT);
  EXPECT_THAT(missing.detail(), HasSubstr("another observation"));
}

TEST_F(HccnSessionTest, RunsNothingWithoutATool) {
  HccnSession session(absl::NotFoundError("hccn_tool: absent"),
                      NpuToolFacts::CLASSIC, 3, &runner_, &clock_, &budget_,
                      &turns_);
  const HccnAnswer answer = session.Ask("-ip");
  EXPECT_EQ(answer.missing->reason(), Missing::ABSENT);
  EXPECT_EQ(answer.missing->detail(), "hccn_tool: absent");
  EXPECT_THAT(runner_.commands(), IsEmpty());
}

TEST_F(HccnSessionTest, RunsNothingMoreWhenTheToolCannotStart) {
  runner_.CannotStart(kIp, absl::PermissionDeniedError("hccn_tool: denied"));
  HccnSession& session = Session();
  EXPECT_EQ(session.Ask("-ip").missing->reason(), Missing::NOT_PERMITTED);
  EXPECT_EQ(session.Ask("-link").missing->reason(), Missing::NOT_PERMITTED);
  EXPECT_THAT(runner_.commands(), ElementsAre(kIp));
}

TEST_F(HccnSessionTest, DoesNotBelieveCutOutput) {
  CommandResult endless;
  endless.standard_output = "link status: UP\n";
  endless.output_cut = true;
  runner_.Ends(kLink, endless);
  EXPECT_EQ(MissingOf("-link").reason(), Missing::UNREADABLE);
  // Nor that there is no address.
  endless.exit_status = 13;
  endless.standard_error =
      "Get ipconf failed, because no ip was preset there!\n";
  runner_.Ends(kIp, endless);
  EXPECT_EQ(MissingOf("-ip").reason(), Missing::UNREADABLE);
}

TEST(DeviceLocksTest, GivesEachDeviceItsOwnLockUntilThatEnds) {
  DeviceLocks locks;
  {
    auto lock = locks.Take(3, absl::ZeroDuration());
    ASSERT_TRUE(lock.ok());
    const DeviceLocks::Lock moved = *std::move(lock);
    EXPECT_TRUE(
        absl::IsDeadlineExceeded(locks.Take(3, absl::ZeroDuration()).status()));
    EXPECT_TRUE(locks.Take(1, absl::ZeroDuration()).ok());
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

TEST(DeviceLocksTest, ChangeOfADeviceIsBeforeAllReads) {
  DeviceLocks locks;
  auto held = locks.Take(0, absl::ZeroDuration());
  ASSERT_TRUE(held.ok());
  std::atomic<bool> changed{false};
  std::atomic<bool> read_first{false};
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      const auto reading = locks.Take(0, kPatience);
      EXPECT_TRUE(reading.ok());
      if (!changed) read_first = true;
    });
  }
  threads.emplace_back([&] {
    const auto change = locks.Take(0, kPatience, /*changes=*/true);
    EXPECT_TRUE(change.ok());
    changed = true;
  });
  // While the change waits, other callers get its error.
  std::string text;
  while (!absl::StrContains(text, "about to be changed")) {
    text = std::string(locks.Take(0, absl::ZeroDuration()).status().message());
  }
  held->reset();
  for (std::thread& thread : threads) thread.join();
  EXPECT_TRUE(changed);
  EXPECT_FALSE(read_first);
}

}  // namespace
}  // namespace clusterd
