#include "daemon/host/hccn/hccn_tool.h"

#include <unistd.h>

#include <memory>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/host/fake_clock.h"
#include "tests/support/host/fake_command_runner.h"
#include "tests/support/host/scratch_root.h"
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

TEST(LocateHccnToolTest, TakesTheDefaultPlaceWithoutInstallInfo) {
  ScratchRoot root;
  root.WriteProgram(kTool, "#!/bin/sh\n");
  EXPECT_EQ(*LocateHccnTool(root.paths()), root.path() + kTool);
}

TEST(LocateHccnToolTest, TakesTheInstallPath) {
  ScratchRoot root;
  root.Write("/etc/ascend_install.info", "Driver_Install_Path_Param=/opt/x\n");
  root.WriteProgram("/opt/x/driver/tools/hccn_tool", "#!/bin/sh\n");
  EXPECT_EQ(*LocateHccnTool(root.paths()),
            root.path() + "/opt/x/driver/tools/hccn_tool");
}

TEST(LocateHccnToolTest, SaysWhereItIsNot) {
  ScratchRoot root;
  const absl::Status status = LocateHccnTool(root.paths()).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(status.message()), HasSubstr("/usr/local"));
}

TEST(LocateHccnToolTest, RefusesAToolThatAnybodyCanReplace) {
  ScratchRoot root;
  root.WriteProgram(kTool, "#!/bin/sh\n");
  root.SetMode("/usr/local/Ascend/driver/tools", 0777);
  EXPECT_TRUE(absl::IsPermissionDenied(LocateHccnTool(root.paths()).status()));
}

TEST(LocateHccnToolTest, RejectsAMalformedInstallPath) {
  ScratchRoot root;
  root.Write("/etc/ascend_install.info", "Driver_Install_Path_Param=../x\n");
  EXPECT_TRUE(absl::IsInvalidArgument(LocateHccnTool(root.paths()).status()));
}

class HccnSessionTest : public ::testing::Test {
 protected:
  HccnSession& Session(
      NpuToolFacts::Generation generation = NpuToolFacts::CLASSIC) {
    session_.reset();
    session_ =
        std::make_unique<HccnSession>(std::string(kTool), generation, 3,
                                      &runner_, &clock_, &budget_, &turns_);
    return *session_;
  }

  FakeClock clock_;
  FakeCommandRunner runner_{&clock_};
  TimeBudget budget_{&clock_, absl::Seconds(10), absl::Seconds(30)};
  DeviceLocks turns_;
  std::unique_ptr<HccnSession> session_;
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

TEST_F(HccnSessionTest, NoticesAClassicToolWhereItExpectedAnother) {
  runner_.Fails("hccn_tool -g -tls -i 3", 1,
                "Get invalid major cmd type. The valid major cmd type should "
                "be \"-a\" or \"-i\".\n");
  HccnSession& session = Session(NpuToolFacts::ASCEND_950);
  const HccnAnswer answer = session.Ask("-tls");
  EXPECT_EQ(answer.missing->reason(), Missing::TOOL_FAILED);
  EXPECT_THAT(answer.missing->detail(),
              Tells("fact-other-tool", kAny, "classic", "Ascend 950"));
  EXPECT_EQ(session.generation(), NpuToolFacts::CLASSIC);
}

TEST_F(HccnSessionTest, NoticesAnAscend950ToolWhereItExpectedAClassicOne) {
  runner_.Fails(kLink, 2,
                "Please specify a valid mode.\n"
                "Enter [ hccn_tool -h ] for more details.\n");
  HccnSession& session = Session();
  const HccnAnswer answer = session.Ask("-link");
  EXPECT_EQ(answer.missing->reason(), Missing::TOOL_FAILED);
  EXPECT_THAT(answer.missing->detail(),
              Tells("fact-other-tool", kAny, "Ascend 950", "classic"));
  EXPECT_EQ(session.generation(), NpuToolFacts::ASCEND_950);
}

TEST_F(HccnSessionTest, AsksTheOtherGenerationsToolNothingMore) {
  runner_.Fails(kLink, 2, "Please specify a valid mode.\n");
  HccnSession& session = Session();
  session.Ask("-link");
  EXPECT_THAT(session.Ask("-ip").missing->detail(),
              HasSubstr("Ascend 950 hccn_tool"));
  EXPECT_THAT(runner_.commands(), ElementsAre(kLink));
}

TEST_F(HccnSessionTest, TakesAnotherRefusalForNoOtherTool) {
  runner_.Fails("hccn_tool -g -ip -i 3 -d bond3", 14,
                "Bond device ID mismatch: name='bond3', expected 'bond4'.\n");
  HccnSession& session = Session(NpuToolFacts::ASCEND_950);
  const HccnAnswer answer = session.Ask("-ip", {"-d", "bond3"});
  EXPECT_THAT(answer.missing->detail(), HasSubstr("expected 'bond4'"));
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

TEST_F(HccnSessionTest, AsksABusyDeviceAgain) {
  runner_.Fails(kLink, 11, "", kBusy);
  runner_.Fails(kLink, 11, "", kBusy);
  runner_.Answers(kLink, "link status: UP\n");
  EXPECT_FALSE(Session().Ask("-link").missing.has_value());
  EXPECT_EQ(runner_.CountOf(kLink), 3);
  EXPECT_EQ(clock_.Monotonic(), absl::Milliseconds(600));
}

TEST_F(HccnSessionTest, GivesUpOnADeviceThatStaysBusy) {
  runner_.Fails(kLink, 11, "", kBusy);
  const HccnAnswer answer = Session().Ask("-link");
  ASSERT_TRUE(answer.missing.has_value());
  EXPECT_EQ(answer.missing->reason(), Missing::BUSY);
  EXPECT_THAT(answer.missing->detail(), HasSubstr("asked 5 times"));
  EXPECT_EQ(runner_.CountOf(kLink), 5);
}

TEST_F(HccnSessionTest, DoesNotWaitForABusyDeviceBeyondTheHostsTime) {
  runner_.Fails(kLink, 11, "", kBusy);
  clock_.Advance(absl::Milliseconds(29900));
  EXPECT_EQ(Session().Ask("-link").missing->reason(), Missing::BUSY);
  EXPECT_EQ(runner_.CountOf(kLink), 1);
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

TEST_F(HccnSessionTest, NamesTheHostsDeadlineWhenThatCame) {
  clock_.Advance(absl::Seconds(25));
  runner_.Hangs(kIp);
  EXPECT_THAT(Session().Ask("-ip").missing->detail(),
              HasSubstr("30s (deadlines.host)"));
}

TEST_F(HccnSessionTest, AsksNothingAfterTheHostsDeadline) {
  HccnSession& session = Session();
  clock_.Advance(absl::Seconds(31));
  const HccnAnswer answer = session.Ask("-ip");
  EXPECT_EQ(answer.missing->reason(), Missing::TIMED_OUT);
  EXPECT_THAT(answer.missing->detail(), HasSubstr("deadlines.host"));
  EXPECT_THAT(runner_.commands(), IsEmpty());
}

TEST_F(HccnSessionTest, NamesAProcessThatCannotBeKilled) {
  runner_.HangsForEver(kIp, getpid());
  const HccnAnswer answer = Session().Ask("-ip");
  EXPECT_THAT(answer.missing->detail(),
              HasSubstr(std::to_string(getpid()) + " cannot be killed"));
}

TEST_F(HccnSessionTest, StaysAwayFromADeviceWithAProcessLeftBehind) {
  runner_.HangsForEver(kIp, getpid());
  runner_.Answers(kLink, "link status: UP\n");
  Session().Ask("-ip");
  const HccnAnswer answer = Session().Ask("-link");
  EXPECT_EQ(answer.missing->reason(), Missing::TIMED_OUT);
  EXPECT_THAT(answer.missing->detail(), HasSubstr("cannot be killed"));
  EXPECT_EQ(runner_.CountOf(kLink), 0);
}

TEST_F(HccnSessionTest, WaitsForTheDeviceNoLongerThanTheHostHas) {
  const absl::StatusOr<DeviceLocks::Lock> other =
      turns_.Take(3, absl::ZeroDuration());
  clock_.Advance(absl::Seconds(30));
  const HccnAnswer answer = Session().Ask("-ip");
  EXPECT_EQ(answer.missing->reason(), Missing::TIMED_OUT);
  EXPECT_THAT(answer.missing->detail(), HasSubstr("another observation"));
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
  EXPECT_EQ(Session().Ask("-link").missing->reason(), Missing::UNREADABLE);
}

}  // namespace
}  // namespace clusterd
