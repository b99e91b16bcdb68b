// clusterctl apply from command line to exit status, over real gRPC against a
// controller with scripted answers.
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "client/files/user_files.h"
#include "config/plan/settings.h"
#include "config/words/message.h"
#include "gmock/gmock.h"
#include "tests/support/client/fake_controller.h"
#include "tests/support/client/program_run.h"
#include "tests/support/client/sample_plan.h"
#include "tests/support/config/plan_steps.h"
#include "tests/support/wait/from_text.h"

namespace clusterd {
namespace {

using ::testing::AllOf, ::testing::AnyOf, ::testing::HasSubstr, ::testing::Not,
    ::testing::StartsWith;

using Arguments = std::vector<std::string>;

constexpr char kRun[] = "3fa2c4d5e6f70812";

ClusterPlan TwoHosts() { return SysctlPlan({"server0", "server1"}); }

std::string PlanPath(const ClusterPlan& plan = TwoHosts()) {
  return TestFile("plan.json", PlanFileText(plan).value());
}

ApplyProgress Progress(uint32_t done) {
  auto progress =
      FromText<ApplyProgress>("wave: 1 waves: 1 at_work: 'server1'");
  progress.set_run_id(kRun);
  progress.set_done(done);
  progress.set_pending(2 - done);
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

// An apply of that plan with these options, without a question.
ProgramOutput Apply(const Arguments& options = {},
                    const ProgramWorld& world = GoodWorld()) {
  return RunProgram(With({"apply", PlanPath(), "--yes"}, options), world);
}

// The question before an apply of `steps` on two hosts.
FindingValue Question(size_t waves, const FindingValue& first = {},
                      const FindingValue& force = {},
                      const FindingValue& reverts = {}, size_t steps = 4) {
  return Worded(
      "ctl-question", Worded("ctl-apply-steps", Counted(steps, "step")),
      Counted(2, "host"), Counted(waves, "wave"), first, force, reverts);
}

// A person who types this is at the terminal.
void Type(const absl::StatusOr<std::string>& answer, ProgramWorld& world) {
  world.terminal.in_is_terminal = true;
  world.terminal.err_is_terminal = true;
  world.answer = answer;
}

TEST(ApplyCommandTest, TellsEachEndAsItComesAndThenTheSummary) {
  EXPECT_THAT(Apply(),
              Ends(0,
                   Err(absl::StrCat(Line("apply", Question(1)),
                                    Line("apply", Worded("ctl-run", kRun)),
                                    "√ applied  server0  2 steps (1.2 s)\n"
                                    "√ applied  server1  2 steps (1.2 s)\n")),
                   Out(HasSubstr("Hosts\n  √ applied  server[0-1]  2 steps\n")),
                   Out(Tells("apply-to-roll-back", kRun))));
}

TEST(ApplyCommandTest, TalksChineseAndWritesTheSameReport) {
  ProgramWorld world = GoodWorld();
  world.script.apply_status = {grpc::StatusCode::UNAVAILABLE, "Socket closed"};
  const Arguments line = {"apply", PlanPath(), "--yes", "-o", "json"};
  const ProgramOutput english = RunProgram(line, world);
  world.environment["CLUSTERD_LANG"] = "zh";
  const ProgramOutput chinese = RunProgram(line, world);
  EXPECT_EQ(chinese.status, english.status);
  EXPECT_EQ(chinese.out, english.out);
  for (const char* text :
       {"执行 4 步：2 台主机，1 批\n", "运行 3fa2c4d5e6f70812\n",
        "运行 3fa2c4d5e6f70812 可能仍在控制器中"}) {
    EXPECT_THAT(chinese.err, HasSubstr(text));
  }
  Type("n", world);
  EXPECT_THAT(
      RunProgram({"apply", PlanPath()}, world),
      Ends(3, Err(HasSubstr("1 批？[y/N] ")), Err(HasSubstr("未做任何变更"))));
}

TEST(ApplyCommandTest, NamesThePlanWithTheWaveAndTheForce) {
  ProgramWorld world = GoodWorld();
  WatchedController controller(world);
  const std::string path = PlanPath();
  EXPECT_EQ(RunProgram({"apply", path, "--yes"}, world).status, 0);
  EXPECT_EQ(controller.apply_request().value().plan_id(), TwoHosts().plan_id());
  EXPECT_EQ(controller.apply_request().value().digest(), TwoHosts().digest());
  EXPECT_EQ(controller.apply_request().value().wave_size(), 32u);
  EXPECT_FALSE(controller.apply_request().value().force());
  const ProgramOutput forced =
      RunProgram({"apply", path, "--yes", "--force", "--wave", "1"}, world);
  EXPECT_THAT(forced.err,
              HasSubstr(Line("apply", Question(2, FindingValue(),
                                               Worded("ctl-with-force")))));
  EXPECT_EQ(controller.apply_request().value().wave_size(), 1u);
  EXPECT_TRUE(controller.apply_request().value().force());
}

TEST(ApplyCommandTest, AsksAPersonAndTakesOnlyYes) {
  for (const auto& [text, status] :
       {std::pair{"y", 0}, std::pair{" YES ", 0}, std::pair{"", 3},
        std::pair{"n", 3}, std::pair{"x", 3}}) {
    ProgramWorld world = GoodWorld();
    WatchedController controller(world);
    Type(text, world);
    const ProgramOutput output = RunProgram({"apply", PlanPath()}, world);
    EXPECT_THAT(
        output,
        Ends(status, Err(HasSubstr("net.core.somaxconn: 4096 -> 65535\n")),
             Err(HasSubstr(
                 absl::StrCat("\n", Say("ctl-ask-yes", Question(1)))))));
    EXPECT_EQ(controller.apply_request().has_value(), status == 0);
    EXPECT_EQ(absl::StrContains(output.err, Say("msg-answer-not-yes")),
              status == 3);
  }
}

TEST(ApplyCommandTest, DoesNotTakeSilenceForYes) {
  ProgramWorld world = GoodWorld();
  Type(OutOfRangeWords("msg-stdin-ended"), world);
  EXPECT_THAT(
      RunProgram({"apply", PlanPath()}, world),
      Ends(3, Err(Tells("msg-answer-not-read", Worded("msg-stdin-ended")))));
}

TEST(ApplyCommandTest, ChangesNothingWhenInterruptedAtTheQuestion) {
  ProgramWorld world = GoodWorld();
  WatchedController controller(world);
  Type("y", world);
  world.interrupt_at = "[y/N]";
  EXPECT_THAT(RunProgram({"apply", PlanPath()}, world),
              Ends(2, Err(Tells("msg-answer-not-read", "interrupted"))));
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

TEST(ApplyExitTest, FollowsTheHosts) {
  const ExitCase kExitCases[] = {
      {"Applied", ApplyReport::SUCCEEDED, ApplyResult::APPLIED,
       ApplyResult::NOTHING_TO_DO, 0, "every host succeeded"},
      {"Undone", ApplyReport::STOPPED, ApplyResult::APPLIED,
       ApplyResult::UNDONE, 1, "undid its steps"},
      {"Refused", ApplyReport::STOPPED, ApplyResult::REFUSED,
       ApplyResult::NOT_STARTED, 1, "a host refused"},
      {"GoneAtItsTurn", ApplyReport::STOPPED, ApplyResult::APPLIED,
       ApplyResult::NOT_STARTED, 1, "was away"},
      {"UndoneAndLost", ApplyReport::STOPPED, ApplyResult::LOST,
       ApplyResult::UNDONE, 1, "undid its steps"},
      {"Lost", ApplyReport::STOPPED, ApplyResult::APPLIED, ApplyResult::LOST, 2,
       "a host is lost"},
      {"Interrupted", ApplyReport::INTERRUPTED, ApplyResult::APPLIED,
       ApplyResult::NOT_STARTED, 2, "the controller is away"},
      {"CalledSuccess", ApplyReport::SUCCEEDED, ApplyResult::APPLIED,
       ApplyResult::UNDONE, 1, "undid its steps"}};
  for (const ExitCase& each : kExitCases) {
    SCOPED_TRACE(each.name);
    EXPECT_EQ(Apply({}, WorldWith(each.outcome, ResultOf("server0", each.first),
                                  ResultOf("server1", each.second)))
                  .status,
              each.status);
    EXPECT_THAT(HelpOfStatus("apply", each.status), HasSubstr(each.help));
  }
}

TEST(ApplyCommandTest, PutsFailuresLastWithTheirReasons) {
  ApplyResult undone = ResultOf("server0", ApplyResult::UNDONE_WITH_RESIDUES,
                                "step 2: Read-only file system");
  undone.add_residues("net.core.somaxconn is 128, was 4096");
  const ProgramOutput output =
      Apply({}, WorldWith(ApplyReport::STOPPED, undone,
                          ResultOf("server1", ApplyResult::APPLIED)));
  EXPECT_THAT(output, Ends(1, Out(HasSubstr(undone.residues(0))),
                           Out(HasSubstr(undone.error())),
                           Out(HasSubstr("STOPPED: "))));
  EXPECT_LT(output.out.find("√ applied "), output.out.find(undone.error()));
}

TEST(ApplyCommandTest, PrintsOneLineOrJsonOnRequest) {
  EXPECT_THAT(
      Apply({"-o", "short"}).out,
      StartsWith("demo: apply 3fa2c4d5e6f70812 SUCCEEDED: 2 applied of"));
  const ProgramOutput json = Apply({"-o", "json"});
  EXPECT_EQ(FromJson<ApplyReport>(json.out).run_id(), kRun);
  EXPECT_EQ(FromJson<ApplyReport>(json.out).hosts_size(), 2);
}

TEST(ApplyCommandTest, ShowsACounterOnATerminalAndStepsOnRequest) {
  ProgramWorld world = GoodWorld();
  const auto step = FromText<ApplyEvent>(
      "step {host: 'server0' text: 'net.core.somaxconn: 4096 -> 65535' "
      "outcome {step: 1 state: DONE}}");
  world.script.apply_events.insert(world.script.apply_events.begin() + 1, step);
  const std::string step_line =
      Line("apply", Worded("ctl-step", "server0", 1, "done",
                           "net.core.somaxconn: 4096 -> 65535", ""));
  EXPECT_THAT(Apply({}, world).err, Not(HasSubstr(step_line)));
  EXPECT_THAT(Apply({"--verbose"}, world).err, HasSubstr(step_line));
  world.terminal.err_is_terminal = true;
  EXPECT_THAT(Apply({}, world).err,
              AllOf(Tells("apply-progress", 1, 1, 0, 0, 2),
                    Tells("apply-at-work", "server1")));
}

TEST(ApplyCommandTest, TimeoutEndsOnlyClusterctl) {
  ProgramWorld world = GoodWorld();
  world.script.apply_events.resize(1);
  world.script.apply_hangs = true;
  WatchedController controller(world);
  const ProgramOutput output = Apply({"--timeout", "100ms"}, world);
  EXPECT_EQ(output.status, 2);
  EXPECT_EQ(controller.cancelled_id(), "");
  // On a slow machine it ends before the run's id arrives.
  EXPECT_THAT(output.err, AnyOf(Tells("msg-run-goes-on", kRun),
                                Tells("msg-run-not-named", "apply")));
}

TEST(ApplyCommandTest, CanaryIsAWaveOfItsOwn) {
  ProgramWorld world = GoodWorld();
  WatchedController controller(world);
  const FindingValue first = Worded("ctl-first-wave", Counted(1, "host"));
  EXPECT_THAT(Apply({"--canary", "1"}, world),
              Ends(0, Err(HasSubstr(Line("apply", Question(2, first))))));
  EXPECT_EQ(controller.apply_request().value().canary(), 1u);
  EXPECT_EQ(controller.apply_request().value().wave_size(), 32u);
  EXPECT_THAT(Apply({"--canary", "0"}, {}).err,
              Tells("msg-count-out-of-range", "--canary", "0"));
}

TEST(ApplyCommandTest, SaysWhichHostsAreTheCanaryAndWhy) {
  ClusterPlan plan = TwoHosts();
  PlanStep& step = *plan.mutable_hosts(1)->add_steps();
  step = DeviceStep(0, SETTING_TLS, "on", "off");
  step.set_id(3);
  Reseal(plan);
  const ProgramOutput output = RunProgram(
      {"apply", PlanPath(plan), "--yes", "--canary", "1"}, GoodWorld());
  EXPECT_THAT(output.err, Tells("hub-canary-every", "server1 (sysctl, tls)"));
  plan.mutable_hosts(1)->mutable_steps()->DeleteSubrange(
      0, plan.hosts(1).steps_size() - 1);
  plan.mutable_hosts(1)->mutable_steps(0)->set_id(1);
  Reseal(plan);
  const std::string warned = RunProgram({"apply", PlanPath(plan), "--yes",
                                         "--canary", "1", "--wave", "1"},
                                        GoodWorld())
                                 .err;
  EXPECT_THAT(warned, Tells("hub-canary-lacks", "tls", "server0 (sysctl)", 2));
}

TEST(ApplyCommandTest, DoesNotTrustAReportBeforeABrokenStream) {
  ProgramWorld world = GoodWorld();
  world.script.apply_status = {grpc::StatusCode::UNAVAILABLE, "Socket closed"};
  EXPECT_THAT(
      Apply({}, world),
      Ends(2, Err(Tells("msg-call-broken", "Socket closed", "", "")),
           Err(HasSubstr(Line("apply", Worded("msg-run-may-go-on", kRun)))),
           Out(HasSubstr("RUNNING: 2 applied"))));
}

TEST(ApplyRefusedTest, SaysWhyAndWhetherAnythingWasChanged) {
  using grpc::StatusCode;
  const struct {
    const char* name;
    StatusCode code;
    const char* error;
    int exit;
    const char* help;  // Words of the help about that status.
    FindingValue said = Worded("ctl-nothing-changed");
  } kCases[] = {
      {"Role", StatusCode::PERMISSION_DENIED, "ann is viewer", 2,
       "role is not sufficient"},
      {"Moved", StatusCode::ABORTED, "the spec changed", 2,
       "cluster.yaml has changed"},
      {"NotKept", StatusCode::ABORTED, "keeps it no more", 2,
       "no longer keeps the plan"},
      {"NotAttached", StatusCode::FAILED_PRECONDITION, "not attached", 2,
       "a host is not attached"},
      {"Wrong", StatusCode::INVALID_ARGUMENT, "digest", 3, "an edited plan"},
      {"NotInTheSpec", StatusCode::INVALID_ARGUMENT, "server1", 3,
       "cluster.yaml does not name"},
      {"Busy", StatusCode::UNAVAILABLE, "run 7777 of bob", 2,
       "apply or rollback runs", Worded("msg-run-not-named", "apply")},
      {"NoReport", StatusCode::OK, "", 2, "no complete answer",
       Worded("msg-call-answer-missing", "apply", 0)}};
  for (const auto& each : kCases) {
    SCOPED_TRACE(each.name);
    ProgramWorld world;
    world.script.apply_status = {each.code, each.error};
    EXPECT_THAT(Apply({}, world),
                Ends(each.exit, Out(""), Err(HasSubstr(each.error)),
                     Err(HasSubstr(ValueText(each.said)))));
    EXPECT_THAT(HelpOfStatus("apply", each.exit), HasSubstr(each.help));
  }
}

TEST(ApplyCommandTest, IsNoSuccessWhenTheReportLeavesOutAHost) {
  ProgramWorld world;
  world.script.apply_events = {EventOf(ReportOf(
      ApplyReport::SUCCEEDED, {ResultOf("server0", ApplyResult::APPLIED)}))};
  EXPECT_THAT(Apply({}, world),
              Ends(2, Out(Tells("msg-report-without-hosts", 1)),
                   Out(HasSubstr("? no answer yet  server1"))));
}

TEST(ApplyCommandTest, HasNothingToDoWithoutAskingAnybody) {
  ClusterPlan plan = TwoHosts();
  for (HostPlan& host : *plan.mutable_hosts()) host.clear_steps();
  Reseal(plan);
  ProgramWorld world;
  world.environment = {{"LC_ALL", "C.UTF-8"}};
  EXPECT_THAT(
      RunProgram({"apply", PlanPath(plan)}, world),
      Ends(0, Err(Line("apply", Worded("plan-nothing", Counted(2, "host")))),
           Out(HasSubstr("√ nothing to do  server[0-1]"))));

  plan.mutable_hosts(0)->add_blocked()->set_what("the host");
  Reseal(plan);
  EXPECT_THAT(RunProgram({"apply", PlanPath(plan)}, world),
              Ends(2, Err(Tells("msg-nothing-can-be-done", "")),
                   Err(Tells("plan-blocked-on", Counted(1, "change"),
                             Counted(1, "host")))));
  EXPECT_THAT(HelpOfStatus("apply", 2), HasSubstr("whole plan is blocked"));
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
       {"edited", "no longer keeps it", "cluster.yaml has changed",
        "not attached", "apply or rollback runs"}) {
    EXPECT_LT(before, help.find(text)) << text;
    EXPECT_LT(help.find(text), turn) << text;
  }
  for (const char* text : {"a fact on which its steps",
                           "a process uses, or may", "agent.yaml does not"}) {
    EXPECT_LT(turn, help.find(text)) << text;
    EXPECT_LT(help.find(text), waves) << text;
  }
}

TEST(ApplyMistakeTest, ExitsWithThreeNamesEveryMistakeAndChangesNothing) {
  const Mistake kMistakes[] = {
      {"NoConsent", {}, {Say("msg-yes-missing")}},
      {"Wave",
       {"--yes", "--wave", "0"},
       {Say("msg-count-out-of-range", "--wave", "0")}},
      {"NegativeWave", {"--yes", "--wave", "-3"}, {"--wave: \"-3\""}},
      {"OtherNamespace",
       {"--yes", "--netns", "container:train-1"},
       {"--netns: \"container:train-1\"", Say("ctl-no-namespace")}},
      {"Everything",
       {"--wave", "x", "--netns", "y", "--timeout", "z", "-o", "xml"},
       {"--wave", "--netns", "--timeout", "--output", "--yes"}}};
  for (const Mistake& each : kMistakes) {
    SCOPED_TRACE(each.name);
    const std::string report_path = TestFile("report.json", "old");
    ProgramWorld world = GoodWorld();
    WatchedController controller(world);
    const ProgramOutput output = RunProgram(
        With({"apply", PlanPath(), "--report", report_path}, each.options),
        world);
    EXPECT_EQ(output.status, 3);
    EXPECT_EQ(output.out, "");
    EXPECT_FALSE(controller.apply_request().has_value());
    const std::string note =
        FromJson<ApplyReport>(FileContent(report_path)).notes(0);
    for (const std::string& message : each.messages) {
      EXPECT_THAT(output.err, HasSubstr(message));
      EXPECT_THAT(note, HasSubstr(message));
    }
  }
}

TEST(ApplyCommandTest, RefusesAnEditedPlanBeforeItAsksAnybody) {
  ProgramWorld world = GoodWorld();
  WatchedController controller(world);
  const std::string path = TestFile(
      "plan.json", absl::StrReplaceAll(PlanFileText(TwoHosts()).value(),
                                       {{"\"65535\"", "\"70000\""}}));
  EXPECT_THAT(RunProgram({"apply", path, "--yes"}, world),
              Ends(3, Err(Tells("about", path,
                                Worded("msg-plan-digest-differs",
                                       TwoHosts().digest().substr(0, 64))))));
  EXPECT_FALSE(controller.settings().has_value() &&
               controller.apply_request().has_value());
}

TEST(ApplyCommandTest, RefusesWhatIsNoPlan) {
  EXPECT_THAT(RunProgram({"apply", TestFile("f", "{}"), "--yes"}).err,
              Tells("msg-file-not-a-plan", Worded("ctl-plan-without-digest")));
  EXPECT_THAT(RunProgram({"apply", "/nonexistent/p", "--yes"}),
              Ends(3, Err(HasSubstr(NoSuchFile("/nonexistent/p")))));
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
  EXPECT_THAT(FromJson<ApplyReport>(FileContent(path)).notes(0),
              HasSubstr("did you mean \"--wave\"?"));
}

TEST(ApplyCommandTest, RefusesAReportFileThatCannotBeMadeBeforeAnythingElse) {
  for (const std::string& path :
       {std::string("/nonexistent/report.json"), testing::TempDir()}) {
    ProgramWorld world = GoodWorld();
    WatchedController controller(world);
    const ProgramOutput output = Apply({"--report", path}, world);
    EXPECT_EQ(output.status, 3) << path;
    EXPECT_FALSE(controller.apply_request().has_value()) << path;
    // Reported once: it was not tried again.
    EXPECT_EQ(absl::StrReplaceAll(output.err, {{"--report", ""}}).size() + 8,
              output.err.size())
        << output.err;
  }
}

TEST(ApplyCommandTest, IsNoSuccessWhenTheReportFileCannotBeWritten) {
  const ProgramOutput output = Apply({"--report", "/dev/full"});
  // Not 3, which means that nothing was changed.
  EXPECT_EQ(output.status, 2);
  EXPECT_THAT(output.err, HasSubstr("--report /dev/full: "));
  EXPECT_THAT(HelpOfStatus("apply", 2), HasSubstr("--report could not"));
}

// Addresses change on two of the three hosts.
ClusterPlan ReaddressingPlan() {
  ClusterPlan plan = TwoHosts();
  for (HostPlan& host : *plan.mutable_hosts()) {
    PlanStep& step = *host.add_steps();
    step = DeviceStep(0, SETTING_ADDRESS, "10.0.0.3/255.255.255.0",
                      "10.0.0.2/255.255.255.0");
    step.set_id(host.steps_size());
  }
  plan.set_cluster_hosts(3);
  Reseal(plan);
  return plan;
}

FindingValue Readdressed() {
  return Worded("plan-readdressed", 2, Counted(3, "host"));
}

TEST(ApplyCommandTest, TakesTheClustersNameForAPlanThatChangesManyAddresses) {
  const std::string path = PlanPath(ReaddressingPlan());
  for (const auto& [text, status] :
       {std::pair{"demo", 0}, std::pair{" demo ", 0}, std::pair{"y", 3},
        std::pair{"Demo", 3}, std::pair{"", 3}}) {
    ProgramWorld world = GoodWorld();
    WatchedController controller(world);
    Type(text, world);
    const ProgramOutput output = RunProgram({"apply", path}, world);
    EXPECT_THAT(output, Ends(status, Err(Tells("ctl-ask-name",
                                               Question(1, {}, {}, {}, 6),
                                               Readdressed(), "demo"))));
    EXPECT_EQ(controller.apply_request().has_value(), status == 0) << text;
    EXPECT_EQ(absl::StrContains(output.err, Say("msg-answer-not-name")),
              status == 3);
  }
}

TEST(ApplyCommandTest, AScriptConfirmsManyAddressesWithTheClustersName) {
  const std::string path = PlanPath(ReaddressingPlan());
  ProgramWorld world = GoodWorld();
  WatchedController controller(world);
  EXPECT_THAT(
      RunProgram({"apply", path, "--yes"}, world),
      Ends(3, Err(Tells("msg-confirm-missing", Readdressed(), "demo"))));
  const auto confirm = [&](const std::string& plan, const std::string& name) {
    return RunProgram({"apply", plan, "--yes", "--confirm", name}, world);
  };
  EXPECT_THAT(confirm(path, "dmeo"),
              Ends(3, Err(Tells("msg-confirm-other-cluster", "dmeo", "demo"))));
  EXPECT_FALSE(controller.apply_request().has_value());
  EXPECT_EQ(confirm(path, "demo").status, 0);
  EXPECT_TRUE(controller.apply_request().has_value());
  // --confirm is allowed without need, but the name must be right.
  EXPECT_EQ(confirm(PlanPath(), "demo").status, 0);
  EXPECT_EQ(confirm(PlanPath(), "other").status, 3);
}

TEST(ApplyCommandTest, PlanFileThatIsMissingIsNamed) {
  EXPECT_THAT(RunProgram({"apply", "--yes"}),
              Ends(3, Err(Tells("msg-planfile-missing"))));
}

TEST(ApplyCommandTest, SaysWhenItRevertsAndHowToConfirm) {
  ApplyReport report = ReportOf(ApplyReport::SUCCEEDED,
                                {ResultOf("server0", ApplyResult::APPLIED),
                                 ResultOf("server1", ApplyResult::APPLIED)});
  report.mutable_confirmation()->set_state(Confirmation::PENDING);
  report.mutable_confirmation()->set_deadline_ms(1700000000000);
  ProgramWorld world;
  world.script.apply_events = {EventOf(Progress(0)), EventOf(report)};
  WatchedController controller(world);
  EXPECT_THAT(
      Apply({"--confirm-within", "10m"}, world),
      Ends(0, Err(Tells("ctl-reverts-after", "10m")),
           Out(Tells("apply-reverts-unless-confirmed",
                     "2023-11-14 22:13:20 UTC", "", report.apply_id()))));
  EXPECT_EQ(controller.apply_request()->confirm_within_ms(), 600000u);
  EXPECT_FALSE(controller.apply_request()->auto_confirm());
}

TEST(ApplyCommandTest, HandsOnWhoConfirmsIt) {
  ProgramWorld world = GoodWorld();
  WatchedController controller(world);
  EXPECT_EQ(Apply({"--auto-confirm"}, world).status, 0);
  EXPECT_TRUE(controller.apply_request()->auto_confirm());
  EXPECT_EQ(controller.apply_request()->confirm_within_ms(), 0u);
  EXPECT_EQ(Apply({"--no-confirm"}, world).status, 0);
  EXPECT_TRUE(controller.apply_request()->no_confirm());
}

TEST(ApplyCommandTest, IsKeptOrRevertedAndNotBoth) {
  for (const Arguments& both :
       {Arguments{"--no-confirm", "--auto-confirm"},
        Arguments{"--no-confirm", "--confirm-within", "5m"}}) {
    EXPECT_THAT(
        RunProgram(With({"apply", PlanPath(), "--yes"}, both), GoodWorld()),
        Ends(3, Err(Tells("msg-no-confirm-conflict"))));
  }
  EXPECT_EQ(Apply({"--confirm-within", "59s"}).status, 3);
}

// An older controller ignores the field.
TEST(ApplyCommandTest, SaysWhereTheControllerTakesNothingBack) {
  const ProgramOutput output = Apply({"--confirm-within", "5m"});
  EXPECT_THAT(output.out, Tells("msg-confirm-within-not-known"));
}

}  // namespace
}  // namespace clusterd
