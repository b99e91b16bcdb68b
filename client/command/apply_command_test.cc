// clusterctl apply from command line to exit status, over real gRPC against a
// controller with scripted answers.
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "client/files/user_files.h"
#include "config/plan/settings.h"
#include "google/protobuf/util/json_util.h"
#include "gtest/gtest.h"
#include "tests/support/client/fake_controller.h"
#include "tests/support/client/program_run.h"
#include "tests/support/client/sample_plan.h"
#include "tests/support/config/plan_steps.h"

namespace clusterd {
namespace {

using Arguments = std::vector<std::string>;

constexpr char kRun[] = "3fa2c4d5e6f70812";

ClusterPlan TwoHosts() { return SysctlPlan({"server0", "server1"}); }

std::string PlanPath(const ClusterPlan& plan = TwoHosts()) {
  return TestFile("plan.json", PlanFileText(plan).value());
}

ApplyProgress Progress(uint32_t done) {
  ApplyProgress progress;
  progress.set_run_id(kRun);
  progress.set_wave(1);
  progress.set_waves(1);
  progress.set_done(done);
  progress.set_pending(2 - done);
  progress.add_at_work("server1");
  return progress;
}

// Progress, both hosts' ends, then the report with these.
ProgramWorld WorldWith(ApplyReport::Outcome outcome, const ApplyResult& first,
                       const ApplyResult& second) {
  ProgramWorld world;
  world.script.apply_events = {EventOf(Progress(0)), EventOf(first),
                               EventOf(second),
                               EventOf(ReportOf(outcome, {first, second}))};
  return world;
}

ProgramWorld GoodWorld() {
  return WorldWith(ApplyReport::SUCCEEDED,
                   ResultOf("server0", ApplyResult::APPLIED),
                   ResultOf("server1", ApplyResult::APPLIED));
}

ApplyReport ParseReport(const std::string& json) {
  ApplyReport report;
  EXPECT_TRUE(google::protobuf::util::JsonStringToMessage(json, &report).ok())
      << json;
  return report;
}

TEST(ApplyCommandTest, TellsEachEndAsItComesAndThenTheSummary) {
  const ProgramOutput output =
      RunProgram({"apply", PlanPath(), "--yes"}, GoodWorld());
  EXPECT_EQ(output.status, 0) << output.err;
  EXPECT_EQ(output.err,
            "clusterctl apply: Apply 4 steps on 2 hosts in 1 wave\n"
            "clusterctl apply: run 3fa2c4d5e6f70812\n"
            "√ applied  server0  2 steps (1.2 s)\n"
            "√ applied  server1  2 steps (1.2 s)\n");
  EXPECT_EQ(output.out,
            "Cluster demo, apply 3fa2c4d5e6f70812 of plan 9c41d2e3f4051627 by "
            "ann\n"
            "\n"
            "Hosts\n"
            "  √ applied  server[0-1]  2 steps\n"
            "\n"
            "SUCCEEDED: 2 applied of 2 hosts in 12 s\n"
            "to roll back, run: clusterctl rollback 3fa2c4d5e6f70812\n");
}

TEST(ApplyCommandTest, TalksChineseAndWritesTheSameReport) {
  ProgramWorld world = GoodWorld();
  world.script.apply_status =
      grpc::Status(grpc::StatusCode::UNAVAILABLE, "Socket closed");
  const Arguments line = {"apply", PlanPath(), "--yes", "-o", "json"};
  const ProgramOutput english = RunProgram(line, world);
  world.environment["CLUSTERD_LANG"] = "zh";
  const ProgramOutput chinese = RunProgram(line, world);
  EXPECT_EQ(chinese.status, english.status);
  EXPECT_EQ(chinese.out, english.out);
  for (const char* text :
       {"执行 4 步：2 台主机，1 批\n", "运行 3fa2c4d5e6f70812\n",
        "运行 3fa2c4d5e6f70812 可能仍在控制器中"}) {
    EXPECT_TRUE(absl::StrContains(chinese.err, text)) << chinese.err;
  }
  world.terminal.in_is_terminal = true;
  world.terminal.err_is_terminal = true;
  world.answer = std::string("n");
  const ProgramOutput refused = RunProgram({"apply", PlanPath()}, world);
  EXPECT_EQ(refused.status, 3);
  EXPECT_TRUE(absl::StrContains(refused.err, "1 批？[y/N] ")) << refused.err;
  EXPECT_TRUE(absl::StrContains(refused.err, "未做任何变更")) << refused.err;
}

TEST(ApplyCommandTest, NamesThePlanWithTheWaveAndTheForce) {
  ProgramWorld world = GoodWorld();
  FakeController controller(world.script);
  world.controller = &controller;
  const std::string path = PlanPath();
  EXPECT_EQ(RunProgram({"apply", path, "--yes"}, world).status, 0);
  EXPECT_EQ(controller.apply_request().value().plan_id(), TwoHosts().plan_id());
  EXPECT_EQ(controller.apply_request().value().digest(), TwoHosts().digest());
  EXPECT_EQ(controller.apply_request().value().wave_size(), 32u);
  EXPECT_FALSE(controller.apply_request().value().force());
  const ProgramOutput forced =
      RunProgram({"apply", path, "--yes", "--force", "--wave", "1"}, world);
  EXPECT_TRUE(absl::StrContains(
      forced.err, "Apply 4 steps on 2 hosts in 2 waves, with force\n"));
  EXPECT_EQ(controller.apply_request().value().wave_size(), 1u);
  EXPECT_TRUE(controller.apply_request().value().force());
}

TEST(ApplyCommandTest, AsksAPersonAndTakesOnlyYes) {
  struct Answer {
    const char* text;
    int status;
  };
  for (const Answer& answer : {Answer{"y", 0}, Answer{" YES ", 0},
                               Answer{"", 3}, Answer{"n", 3}, Answer{"x", 3}}) {
    ProgramWorld world = GoodWorld();
    FakeController controller(world.script);
    world.controller = &controller;
    world.terminal.in_is_terminal = true;
    world.terminal.err_is_terminal = true;
    world.answer = std::string(answer.text);
    const ProgramOutput output = RunProgram({"apply", PlanPath()}, world);
    EXPECT_EQ(output.status, answer.status) << answer.text;
    EXPECT_EQ(controller.apply_request().has_value(), answer.status == 0);
    EXPECT_TRUE(
        absl::StrContains(output.err, "net.core.somaxconn: 4096 -> 65535\n"))
        << output.err;
    EXPECT_TRUE(absl::StrContains(
        output.err, "\nApply 4 steps on 2 hosts in 1 wave? [y/N] "))
        << output.err;
    EXPECT_EQ(absl::StrContains(output.err,
                                "the answer was not yes; nothing "
                                "was changed"),
              answer.status == 3);
  }
}

TEST(ApplyCommandTest, DoesNotTakeSilenceForYes) {
  ProgramWorld world = GoodWorld();
  world.terminal.in_is_terminal = true;
  world.terminal.err_is_terminal = true;
  world.answer = absl::OutOfRangeError("stdin: ended without a line");
  const ProgramOutput output = RunProgram({"apply", PlanPath()}, world);
  EXPECT_EQ(output.status, 3);
  EXPECT_TRUE(absl::StrContains(output.err,
                                "stdin: ended without a line; "
                                "nothing was changed"));
}

TEST(ApplyCommandTest, ChangesNothingWhenInterruptedAtTheQuestion) {
  ProgramWorld world = GoodWorld();
  FakeController controller(world.script);
  world.controller = &controller;
  world.terminal.in_is_terminal = true;
  world.terminal.err_is_terminal = true;
  world.interrupt_at = "[y/N]";
  const ProgramOutput output = RunProgram({"apply", PlanPath()}, world);
  EXPECT_EQ(output.status, 2);
  EXPECT_TRUE(
      absl::StrContains(output.err, "interrupted; nothing was changed\n"));
  EXPECT_FALSE(controller.apply_request().has_value());
}

struct ExitCase {
  const char* name;
  ApplyReport::Outcome outcome;
  ApplyResult::Outcome first;
  ApplyResult::Outcome second;
  int status;
  const char* help;  // Words of the help about that status.
};

class ApplyExitTest : public testing::TestWithParam<ExitCase> {};

TEST_P(ApplyExitTest, FollowsTheHosts) {
  EXPECT_EQ(RunProgram({"apply", PlanPath(), "--yes"},
                       WorldWith(GetParam().outcome,
                                 ResultOf("server0", GetParam().first),
                                 ResultOf("server1", GetParam().second)))
                .status,
            GetParam().status);
  EXPECT_TRUE(absl::StrContains(HelpOfStatus("apply", GetParam().status),
                                GetParam().help));
}

INSTANTIATE_TEST_SUITE_P(
    Ends, ApplyExitTest,
    testing::Values(
        ExitCase{"Applied", ApplyReport::SUCCEEDED, ApplyResult::APPLIED,
                 ApplyResult::NOTHING_TO_DO, 0, "every host succeeded"},
        ExitCase{"Undone", ApplyReport::STOPPED, ApplyResult::APPLIED,
                 ApplyResult::UNDONE, 1, "undid its steps"},
        ExitCase{"Refused", ApplyReport::STOPPED, ApplyResult::REFUSED,
                 ApplyResult::NOT_STARTED, 1, "a host refused"},
        ExitCase{"GoneAtItsTurn", ApplyReport::STOPPED, ApplyResult::APPLIED,
                 ApplyResult::NOT_STARTED, 1, "was away"},
        ExitCase{"UndoneAndLost", ApplyReport::STOPPED, ApplyResult::LOST,
                 ApplyResult::UNDONE, 1, "undid its steps"},
        ExitCase{"Lost", ApplyReport::STOPPED, ApplyResult::APPLIED,
                 ApplyResult::LOST, 2, "a host is lost"},
        ExitCase{"Interrupted", ApplyReport::INTERRUPTED, ApplyResult::APPLIED,
                 ApplyResult::NOT_STARTED, 2, "the controller is away"},
        ExitCase{"CalledSuccess", ApplyReport::SUCCEEDED, ApplyResult::APPLIED,
                 ApplyResult::UNDONE, 1, "undid its steps"}),
    [](const auto& info) { return std::string(info.param.name); });

TEST(ApplyCommandTest, PutsFailuresLastWithTheirReasons) {
  ApplyResult undone = ResultOf("server0", ApplyResult::UNDONE_WITH_RESIDUES,
                                "step 2: Read-only file system");
  undone.add_residues("net.core.somaxconn is 128, was 4096");
  const ProgramOutput output =
      RunProgram({"apply", PlanPath(), "--yes"},
                 WorldWith(ApplyReport::STOPPED, undone,
                           ResultOf("server1", ApplyResult::APPLIED)));
  EXPECT_EQ(output.status, 1);
  EXPECT_TRUE(absl::StrContains(
      output.out,
      "  √ applied               server1  2 steps\n"
      "  × undone with residues  server0  step 2: Read-only file system\n"
      "    residue  net.core.somaxconn is 128, was 4096\n"
      "\n"
      "STOPPED: "))
      << output.out;
}

TEST(ApplyCommandTest, PrintsOneLineOrJsonOnRequest) {
  EXPECT_EQ(
      RunProgram({"apply", PlanPath(), "--yes", "-o", "short"}, GoodWorld())
          .out,
      "demo: apply 3fa2c4d5e6f70812 SUCCEEDED: 2 applied of 2 hosts in 12 s\n");
  const ProgramOutput json =
      RunProgram({"apply", PlanPath(), "--yes", "-o", "json"}, GoodWorld());
  EXPECT_EQ(ParseReport(json.out).run_id(), kRun);
  EXPECT_EQ(ParseReport(json.out).hosts_size(), 2);
}

TEST(ApplyCommandTest, ShowsACounterOnATerminalAndStepsOnRequest) {
  ProgramWorld world = GoodWorld();
  ApplyEvent step;
  step.mutable_step()->set_host("server0");
  step.mutable_step()->set_text("net.core.somaxconn: 4096 -> 65535");
  step.mutable_step()->mutable_outcome()->set_step(1);
  step.mutable_step()->mutable_outcome()->set_state(StepOutcome::DONE);
  world.script.apply_events.insert(world.script.apply_events.begin() + 1, step);
  const std::string step_line =
      "clusterctl apply: server0 step 1 done: net.core.somaxconn: 4096 -> "
      "65535\n";
  EXPECT_FALSE(absl::StrContains(
      RunProgram({"apply", PlanPath(), "--yes"}, world).err, step_line));
  EXPECT_TRUE(absl::StrContains(
      RunProgram({"apply", PlanPath(), "--yes", "--verbose"}, world).err,
      step_line));
  world.terminal.err_is_terminal = true;
  EXPECT_TRUE(absl::StrContains(
      RunProgram({"apply", PlanPath(), "--yes"}, world).err,
      "wave 1 of 1: 0 done, 0 failed, 2 pending; at work server1"));
}

TEST(ApplyCommandTest, TimeoutEndsOnlyClusterctl) {
  ProgramWorld world = GoodWorld();
  world.script.apply_events.resize(1);
  world.script.apply_hangs = true;
  FakeController controller(world.script);
  world.controller = &controller;
  const ProgramOutput output =
      RunProgram({"apply", PlanPath(), "--yes", "--timeout", "100ms"}, world);
  EXPECT_EQ(output.status, 2);
  EXPECT_EQ(controller.cancelled_id(), "");
  // On a slow machine it ends before the run's id arrives.
  EXPECT_TRUE(absl::StrContains(output.err, "in the controller, wave after") ||
              absl::StrContains(output.err, "history --kind apply"))
      << output.err;
}

TEST(ApplyCommandTest, CanaryIsAWaveOfItsOwn) {
  ProgramWorld world = GoodWorld();
  FakeController controller(world.script);
  world.controller = &controller;
  const ProgramOutput output =
      RunProgram({"apply", PlanPath(), "--yes", "--canary", "1"}, world);
  EXPECT_EQ(output.status, 0) << output.err;
  EXPECT_TRUE(absl::StrContains(
      output.err, "Apply 4 steps on 2 hosts in 2 waves, the first of 1 host\n"))
      << output.err;
  EXPECT_EQ(controller.apply_request().value().canary(), 1u);
  EXPECT_EQ(controller.apply_request().value().wave_size(), 32u);
  EXPECT_TRUE(absl::StrContains(
      RunProgram({"apply", PlanPath(), "--yes", "--canary", "0"}).err,
      "--canary: \"0\", expected 1 to 100000"));
}

TEST(ApplyCommandTest, SaysWhichHostsAreTheCanaryAndWhy) {
  ClusterPlan plan = TwoHosts();
  PlanStep& step = *plan.mutable_hosts(1)->add_steps();
  step = DeviceStep(0, kTlsSetting, "on", "off");
  step.set_id(3);
  Reseal(plan);
  const ProgramOutput output = RunProgram(
      {"apply", PlanPath(plan), "--yes", "--canary", "1"}, GoodWorld());
  EXPECT_TRUE(absl::StrContains(
      output.err,
      "canary: a step of every kind in the plan is on server1 "
      "(sysctl, tls)\n"))
      << output.err;
  plan.mutable_hosts(1)->mutable_steps()->DeleteSubrange(
      0, plan.hosts(1).steps_size() - 1);
  plan.mutable_hosts(1)->mutable_steps(0)->set_id(1);
  Reseal(plan);
  const std::string warned = RunProgram({"apply", PlanPath(plan), "--yes",
                                         "--canary", "1", "--wave", "1"},
                                        GoodWorld())
                                 .err;
  EXPECT_TRUE(absl::StrContains(
      warned, "warning: canary: no step of tls is on server0 (sysctl), "))
      << warned;
}

TEST(ApplyCommandTest, DoesNotTrustAReportBeforeABrokenStream) {
  ProgramWorld world = GoodWorld();
  world.script.apply_status =
      grpc::Status(grpc::StatusCode::UNAVAILABLE, "Socket closed");
  const ProgramOutput output =
      RunProgram({"apply", PlanPath(), "--yes"}, world);
  EXPECT_EQ(output.status, 2);
  EXPECT_TRUE(absl::StrContains(
      output.err,
      "the connection broke: Socket closed\n"
      "clusterctl apply: run 3fa2c4d5e6f70812 may continue in "
      "the controller, wave after wave"))
      << output.err;
  EXPECT_TRUE(absl::StrContains(output.out, "RUNNING: 2 applied"));
}

struct RefusedCase {
  const char* name;
  grpc::Status status;
  int exit;
  std::vector<std::string> messages;
  const char* help;  // Words of the help about that status.
};

class ApplyRefusedTest : public testing::TestWithParam<RefusedCase> {};

TEST_P(ApplyRefusedTest, SaysWhyAndWhetherAnythingWasChanged) {
  ProgramWorld world;
  world.script.apply_status = GetParam().status;
  const ProgramOutput output =
      RunProgram({"apply", PlanPath(), "--yes"}, world);
  EXPECT_EQ(output.status, GetParam().exit);
  EXPECT_EQ(output.out, "");
  for (const std::string& message : GetParam().messages) {
    EXPECT_TRUE(absl::StrContains(output.err, message)) << output.err;
  }
  const std::string help = HelpOfStatus("apply", GetParam().exit);
  EXPECT_TRUE(absl::StrContains(help, GetParam().help)) << help;
}

INSTANTIATE_TEST_SUITE_P(
    Ways, ApplyRefusedTest,
    testing::Values(
        RefusedCase{"Role",
                    grpc::Status(grpc::StatusCode::PERMISSION_DENIED,
                                 "apply needs role operator, ann is viewer"),
                    2,
                    {"apply needs role operator, ann is viewer\n",
                     "clusterctl apply: nothing was changed\n"},
                    "role is not sufficient"},
        RefusedCase{"Moved",
                    grpc::Status(grpc::StatusCode::ABORTED,
                                 "the spec changed since; plan again"),
                    2,
                    {"plan again\n", "nothing was changed\n"},
                    "the spec has changed"},
        RefusedCase{"NotKept",
                    grpc::Status(grpc::StatusCode::ABORTED,
                                 "this controller keeps it no more"),
                    2,
                    {"keeps it no more\n", "nothing was changed\n"},
                    "does not keep the plan"},
        RefusedCase{"NotAttached",
                    grpc::Status(grpc::StatusCode::FAILED_PRECONDITION,
                                 "not attached: server1; let them attach"),
                    2,
                    {"let them attach\n", "nothing was changed\n"},
                    "a host is not attached"},
        RefusedCase{"Wrong",
                    grpc::Status(grpc::StatusCode::INVALID_ARGUMENT, "digest"),
                    3,
                    {"digest\n", "nothing was changed\n"},
                    "an edited plan"},
        RefusedCase{"NotInTheSpec",
                    grpc::Status(grpc::StatusCode::INVALID_ARGUMENT,
                                 "plan: not in the spec: server1"),
                    3,
                    {"server1\n", "nothing was changed\n"},
                    "the spec does not name"},
        RefusedCase{"Busy",
                    grpc::Status(grpc::StatusCode::UNAVAILABLE,
                                 "run 7777 of bob is under way"),
                    2,
                    {"run 7777 of bob is under way\n",
                     "no run of this command was named; if one began all the "
                     "same, it is in: clusterctl history --kind apply\n"},
                    "apply or rollback runs"},
        RefusedCase{"NoReport",
                    grpc::Status::OK,
                    2,
                    {"ended the apply with 0 answers"},
                    "no complete answer"}),
    [](const auto& info) { return std::string(info.param.name); });

TEST(ApplyCommandTest, IsNoSuccessWhenTheReportLeavesOutAHost) {
  ProgramWorld world;
  world.script.apply_events = {EventOf(ReportOf(
      ApplyReport::SUCCEEDED, {ResultOf("server0", ApplyResult::APPLIED)}))};
  const ProgramOutput output =
      RunProgram({"apply", PlanPath(), "--yes"}, world);
  EXPECT_EQ(output.status, 2);
  EXPECT_TRUE(absl::StrContains(output.out, "leaves out 1 of the hosts"));
  EXPECT_TRUE(absl::StrContains(output.out, "? no answer yet  server1"));
}

TEST(ApplyCommandTest, HasNothingToDoWithoutAskingAnybody) {
  ClusterPlan plan = TwoHosts();
  for (HostPlan& host : *plan.mutable_hosts()) host.clear_steps();
  Reseal(plan);
  ProgramWorld world;
  world.environment = {{"LC_ALL", "C.UTF-8"}};
  const ProgramOutput output = RunProgram({"apply", PlanPath(plan)}, world);
  EXPECT_EQ(output.status, 0);
  EXPECT_EQ(output.err, "clusterctl apply: nothing to do on 2 hosts\n");
  EXPECT_TRUE(absl::StrContains(output.out, "√ nothing to do  server[0-1]"));

  plan.mutable_hosts(0)->add_blocked()->set_what("the host");
  Reseal(plan);
  const ProgramOutput blocked = RunProgram({"apply", PlanPath(plan)}, world);
  EXPECT_EQ(blocked.status, 2);
  EXPECT_TRUE(absl::StrContains(blocked.err,
                                "nothing can be done: no step, 1 change "
                                "blocked on 1 host"))
      << blocked.err;
  EXPECT_TRUE(
      absl::StrContains(HelpOfStatus("apply", 2), "whole plan is blocked"));
}

// Each host judges its facts, devices and agent.yaml when its wave has begun.
// Others may have been applied by then.
TEST(ApplyCommandTest,
     HelpTellsWhatIsAskedBeforeAllHostsAndWhatAtEachOnesTurn) {
  const std::string help = RunProgram({"apply", "--help"}).out;
  const size_t before = help.find("refuses the whole apply");
  const size_t turn = help.find("refuses its own part");
  const size_t waves = help.find("Hosts change in waves");
  ASSERT_LT(before, turn);
  ASSERT_LT(turn, waves);
  ASSERT_NE(waves, std::string::npos);
  for (const char* text :
       {"edited", "no longer keeps it", "the spec has changed", "not attached",
        "apply or rollback runs"}) {
    EXPECT_LT(before, help.find(text)) << text;
    EXPECT_LT(help.find(text), turn) << text;
  }
  for (const char* text : {"a fact that its steps", "a process uses, or may",
                           "agent.yaml does not"}) {
    EXPECT_LT(turn, help.find(text)) << text;
    EXPECT_LT(help.find(text), waves) << text;
  }
}

struct BadCase {
  const char* name;
  Arguments arguments;  // Behind the plan's path.
  std::vector<std::string> messages;
};

class ApplyMistakeTest : public testing::TestWithParam<BadCase> {};

TEST_P(ApplyMistakeTest, ExitsWithThreeNamesEveryMistakeAndChangesNothing) {
  const std::string report_path = TestFile("report.json", "old");
  ProgramWorld world = GoodWorld();
  FakeController controller(world.script);
  world.controller = &controller;
  Arguments arguments = {"apply", PlanPath(), "--report", report_path};
  arguments.insert(arguments.end(), GetParam().arguments.begin(),
                   GetParam().arguments.end());
  const ProgramOutput output = RunProgram(arguments, world);
  EXPECT_EQ(output.status, 3);
  EXPECT_EQ(output.out, "");
  EXPECT_FALSE(controller.apply_request().has_value());
  const std::string note = ParseReport(FileContent(report_path)).notes(0);
  for (const std::string& message : GetParam().messages) {
    EXPECT_TRUE(absl::StrContains(output.err, message)) << message << "\n"
                                                        << output.err;
    EXPECT_TRUE(absl::StrContains(note, message)) << note;
  }
}

INSTANTIATE_TEST_SUITE_P(
    Mistakes, ApplyMistakeTest,
    testing::Values(
        BadCase{
            "NoConsent", {}, {"--yes: is missing, and clusterctl cannot ask"}},
        BadCase{
            "Wave", {"--yes", "--wave", "0"}, {"--wave: \"0\", expected 1"}},
        BadCase{"NegativeWave", {"--yes", "--wave", "-3"}, {"--wave: \"-3\""}},
        BadCase{"OtherNamespace",
                {"--yes", "--netns", "container:train-1"},
                {"--netns: \"container:train-1\" is not what ",
                 "expected none: it is for the hosts' own namespace"}},
        BadCase{"Everything",
                {"--wave", "x", "--netns", "y", "--timeout", "z", "-o", "xml"},
                {"--wave", "--netns", "--timeout", "--output", "--yes"}}),
    [](const auto& info) { return std::string(info.param.name); });

TEST(ApplyCommandTest, RefusesAnEditedPlanBeforeItAsksAnybody) {
  ProgramWorld world = GoodWorld();
  FakeController controller(world.script);
  world.controller = &controller;
  const std::string path = TestFile(
      "plan.json", absl::StrReplaceAll(PlanFileText(TwoHosts()).value(),
                                       {{"\"65535\"", "\"70000\""}}));
  const ProgramOutput output = RunProgram({"apply", path, "--yes"}, world);
  EXPECT_EQ(output.status, 3);
  EXPECT_TRUE(absl::StartsWith(
      output.err,
      absl::StrCat("clusterctl apply: ", path, ": plan: digest \"")))
      << output.err;
  EXPECT_TRUE(absl::StrContains(
      output.err, "the file was damaged or edited: plan again\n"));
  EXPECT_FALSE(controller.settings().has_value() &&
               controller.apply_request().has_value());
}

TEST(ApplyCommandTest, RefusesWhatIsNoPlan) {
  EXPECT_TRUE(absl::StrContains(
      RunProgram({"apply", TestFile("f", "version: 1\n"), "--yes"}).err,
      ": is not a plan of clusterctl: "));
  const ProgramOutput absent = RunProgram({"apply", "/nonexistent/p", "--yes"});
  EXPECT_EQ(absent.status, 3);
  EXPECT_TRUE(absl::StrContains(absent.err,
                                "/nonexistent/p: No such file or directory"));
}

TEST(ApplyCommandTest, TakesTheNamespaceThatThePlanIsFor) {
  ClusterPlan plan = TwoHosts();
  for (HostPlan& host : *plan.mutable_hosts()) {
    host.mutable_network_namespace()->set_container("train-1");
  }
  Reseal(plan);
  EXPECT_EQ(RunProgram({"apply", PlanPath(plan), "--yes", "--netns",
                        "container:train-1"},
                       GoodWorld())
                .status,
            0);
  EXPECT_EQ(RunProgram({"apply", PlanPath(plan), "--yes", "--netns", "pid:1"},
                       GoodWorld())
                .status,
            3);
}

TEST(ApplyCommandTest, WritesTheReportFileAlsoForALineThatCannotBeParsed) {
  const std::string path = TestFile("report.json", "old");
  EXPECT_EQ(RunProgram({"apply", "p", "--report", path, "--wvae", "3"}).status,
            3);
  EXPECT_TRUE(absl::StrContains(ParseReport(FileContent(path)).notes(0),
                                "did you mean \"--wave\"?"));
}

TEST(ApplyCommandTest, RefusesAReportFileThatCannotBeMadeBeforeAnythingElse) {
  for (const std::string& path :
       {std::string("/nonexistent/report.json"), testing::TempDir()}) {
    ProgramWorld world = GoodWorld();
    FakeController controller(world.script);
    world.controller = &controller;
    const ProgramOutput output =
        RunProgram({"apply", PlanPath(), "--yes", "--report", path}, world);
    EXPECT_EQ(output.status, 3) << path;
    EXPECT_FALSE(controller.apply_request().has_value()) << path;
    // Reported once: it was not tried again.
    EXPECT_EQ(absl::StrReplaceAll(output.err, {{"--report", ""}}).size() + 8,
              output.err.size())
        << output.err;
  }
}

TEST(ApplyCommandTest, IsNoSuccessWhenTheReportFileCannotBeWritten) {
  const ProgramOutput output = RunProgram(
      {"apply", PlanPath(), "--yes", "--report", "/dev/full"}, GoodWorld());
  // Not 3, which means that nothing was changed.
  EXPECT_EQ(output.status, 2);
  EXPECT_TRUE(absl::StrContains(output.err,
                                "--report /dev/full: No space left on device"))
      << output.err;
  EXPECT_TRUE(
      absl::StrContains(HelpOfStatus("apply", 2), "--report could not"));
}

// Addresses change on two of the three hosts.
ClusterPlan ReaddressingPlan() {
  ClusterPlan plan = TwoHosts();
  for (HostPlan& host : *plan.mutable_hosts()) {
    PlanStep& step = *host.add_steps();
    step = DeviceStep(0, kAddressSetting, "10.0.0.3/255.255.255.0",
                      "10.0.0.2/255.255.255.0");
    step.set_id(host.steps_size());
  }
  plan.set_cluster_hosts(3);
  Reseal(plan);
  return plan;
}

TEST(ApplyCommandTest, TakesTheClustersNameForAPlanThatChangesManyAddresses) {
  const std::string path = PlanPath(ReaddressingPlan());
  for (const auto& [text, status] :
       {std::pair{"demo", 0}, std::pair{" demo ", 0}, std::pair{"y", 3},
        std::pair{"Demo", 3}, std::pair{"", 3}}) {
    ProgramWorld world = GoodWorld();
    FakeController controller(world.script);
    world.controller = &controller;
    world.terminal.in_is_terminal = true;
    world.terminal.err_is_terminal = true;
    world.answer = std::string(text);
    const ProgramOutput output = RunProgram({"apply", path}, world);
    EXPECT_EQ(output.status, status) << text << output.err;
    EXPECT_EQ(controller.apply_request().has_value(), status == 0) << text;
    EXPECT_TRUE(absl::StrContains(
        output.err,
        "\nApply 6 steps on 2 hosts in 1 wave? As device addresses change on "
        "2 of 3 hosts, type the cluster's name, demo: "))
        << output.err;
    EXPECT_EQ(absl::StrContains(output.err,
                                "the answer was not the cluster's name; "
                                "nothing was changed"),
              status == 3);
  }
}

TEST(ApplyCommandTest, AScriptConfirmsManyAddressesWithTheClustersName) {
  const std::string path = PlanPath(ReaddressingPlan());
  ProgramWorld world = GoodWorld();
  FakeController controller(world.script);
  world.controller = &controller;
  const ProgramOutput without = RunProgram({"apply", path, "--yes"}, world);
  EXPECT_EQ(without.status, 3);
  EXPECT_TRUE(absl::StrContains(
      without.err,
      "--confirm: is missing: device addresses change on 2 of 3 hosts, "
      "expected --confirm demo"))
      << without.err;
  const ProgramOutput another =
      RunProgram({"apply", path, "--yes", "--confirm", "dmeo"}, world);
  EXPECT_EQ(another.status, 3);
  EXPECT_TRUE(absl::StrContains(another.err, "expected \"demo\""))
      << another.err;
  EXPECT_FALSE(controller.apply_request().has_value());
  EXPECT_EQ(
      RunProgram({"apply", path, "--yes", "--confirm", "demo"}, world).status,
      0);
  EXPECT_TRUE(controller.apply_request().has_value());
  // --confirm is allowed without need, but the name must be right.
  EXPECT_EQ(
      RunProgram({"apply", PlanPath(), "--yes", "--confirm", "demo"}, world)
          .status,
      0);
  EXPECT_EQ(
      RunProgram({"apply", PlanPath(), "--yes", "--confirm", "other"}, world)
          .status,
      3);
}

TEST(ApplyCommandTest, PlanFileThatIsMissingIsNamed) {
  const ProgramOutput output = RunProgram({"apply", "--yes"});
  EXPECT_EQ(output.status, 3);
  EXPECT_TRUE(absl::StrContains(output.err, "PLANFILE: is missing"))
      << output.err;
}

TEST(ApplyCommandTest, SaysWhenItGoesBackAndHowItIsKept) {
  ApplyReport report = ReportOf(ApplyReport::SUCCEEDED,
                                {ResultOf("server0", ApplyResult::APPLIED),
                                 ResultOf("server1", ApplyResult::APPLIED)});
  report.mutable_confirmation()->set_state(Confirmation::PENDING);
  report.mutable_confirmation()->set_deadline_ms(1700000000000);
  ProgramWorld world;
  world.script.apply_events = {EventOf(Progress(0)), EventOf(report)};
  FakeController controller(world.script);
  world.controller = &controller;
  const ProgramOutput output = RunProgram(
      {"apply", PlanPath(), "--yes", "--confirm-within", "10m"}, world);
  EXPECT_EQ(output.status, 0) << output.err;
  EXPECT_TRUE(absl::StrContains(
      output.out, absl::StrCat("rolls back at 2023-11-14 22:13:20 UTC; to "
                               "keep it, run: clusterctl confirm ",
                               report.apply_id())))
      << output.out;
  EXPECT_TRUE(absl::StrContains(output.err,
                                "taken back after 10m unless it is confirmed"))
      << output.err;
  EXPECT_EQ(controller.apply_request()->confirm_within_ms(), 600000u);
  EXPECT_FALSE(controller.apply_request()->auto_confirm());
}

TEST(ApplyCommandTest, HandsOnWhoConfirmsIt) {
  ProgramWorld world = GoodWorld();
  FakeController controller(world.script);
  world.controller = &controller;
  EXPECT_EQ(RunProgram({"apply", PlanPath(), "--yes", "--auto-confirm"}, world)
                .status,
            0);
  EXPECT_TRUE(controller.apply_request()->auto_confirm());
  EXPECT_EQ(controller.apply_request()->confirm_within_ms(), 0u);
  EXPECT_EQ(
      RunProgram({"apply", PlanPath(), "--yes", "--no-confirm"}, world).status,
      0);
  EXPECT_TRUE(controller.apply_request()->no_confirm());
}

TEST(ApplyCommandTest, IsToStayOrToGoBackAndNotBoth) {
  for (const Arguments& both :
       {Arguments{"--no-confirm", "--auto-confirm"},
        Arguments{"--no-confirm", "--confirm-within", "5m"}}) {
    Arguments line = {"apply", PlanPath(), "--yes"};
    line.insert(line.end(), both.begin(), both.end());
    const ProgramOutput output = RunProgram(line, GoodWorld());
    EXPECT_EQ(output.status, 3);
    EXPECT_TRUE(
        absl::StrContains(output.err, "--no-confirm: excludes automatic"))
        << output.err;
  }
  EXPECT_EQ(
      RunProgram({"apply", PlanPath(), "--yes", "--confirm-within", "59s"},
                 GoodWorld())
          .status,
      3);
}

// An older controller ignores the field.
TEST(ApplyCommandTest, SaysWhereTheControllerTakesNothingBack) {
  const ProgramOutput output = RunProgram(
      {"apply", PlanPath(), "--yes", "--confirm-within", "5m"}, GoodWorld());
  EXPECT_TRUE(absl::StrContains(output.out, "does not know --confirm-within"))
      << output.out;
}

}  // namespace
}  // namespace clusterd
