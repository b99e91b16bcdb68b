// clusterctl plan from command line to exit status, over real gRPC against a
// controller with scripted answers.
#include <sys/stat.h>

#include "absl/strings/str_cat.h"
#include "client/files/user_files.h"
#include "gmock/gmock.h"
#include "tests/support/client/fake_controller.h"
#include "tests/support/client/program_run.h"
#include "tests/support/client/sample_plan.h"
#include "tests/support/wait/from_text.h"

namespace clusterd {
namespace {

using ::testing::AllOf, ::testing::EndsWith, ::testing::HasSubstr,
    ::testing::StartsWith;

ProgramWorld WorldWith(const ClusterPlan& plan) {
  ProgramWorld world;
  *world.script.spec.mutable_spec() = SpecOfServers(2);
  auto progress = FromText<PlanEvent>(
      R"(progress {answered: 1 pending: 1 awaited: "server1"})");
  world.script.plan_events = {progress, EventOf(plan)};
  return world;
}

ClusterPlan TwoHosts() { return SysctlPlan({"server0", "server1"}); }

ClusterPlan NothingToDo() {
  ClusterPlan plan = TwoHosts();
  for (HostPlan& host : *plan.mutable_hosts()) host.clear_steps();
  Reseal(plan);
  return plan;
}

ClusterPlan WithBlocked() {
  ClusterPlan plan = TwoHosts();
  BlockedChange& blocked = *plan.mutable_hosts(1)->add_blocked();
  blocked.set_what("the host");
  blocked.set_reason("nothing is known about it: no answer");
  blocked.set_fix("let its clusterd attach, then plan again");
  Reseal(plan);
  return plan;
}

// server0 keeps that failing rule; `plan` has no other remark on it.
ClusterPlan Left(State state, ClusterPlan plan) {
  UnfixedRule& unfixed = *plan.mutable_hosts(0)->add_unfixed();
  unfixed.set_rule("link");
  unfixed.set_state(state);
  Reseal(plan);
  return plan;
}

TEST(PlanCommandTest, NeverCallsAHostInOrderThatACheckFails) {
  const ClusterPlan plan = Left(FAIL, NothingToDo());
  EXPECT_THAT(RunProgram({"plan"}, WorldWith(plan)),
              Ends(2, Out(HasSubstr("server0\n  no step fixes   link\n")),
                   Out(HasSubstr("\nNothing to do: server1\n")),
                   Out(HasSubstr("\nPLAN: no step, 1 left failing"))));
  EXPECT_THAT(RunProgram({"plan", "-o", "short"}, WorldWith(plan)).out,
              HasSubstr(": PLAN no step, 1 left"));
  const ProgramOutput json =
      RunProgram({"plan", "-o", "json"}, WorldWith(plan));
  EXPECT_EQ(ParsePlanFile(json.out)->hosts(0).unfixed(0).rule(), "link");
}

TEST(PlanCommandTest, PrintsTheFoldedPlanAndSaysHowToSaveIt) {
  EXPECT_THAT(
      RunProgram({"plan"}, WorldWith(TwoHosts())),
      Ends(0, Err(Line("plan", Worded("ctl-plan-to-save"))),
           Out(HasSubstr(
               "\nserver[0-1]\n"
               "  sysctl          net.core.somaxconn: 4096 -> 65535\n")),
           Out(HasSubstr("\nPLAN: 4 steps on 2 hosts")),
           Out(EndsWith(TwoHosts().digest().substr(0, 12) + "\n"))));
}

TEST(PlanCommandTest, SavesThePlanForItsOwnerAndSaysHowToApplyIt) {
  const std::string path = TestFile("plan.json", "");
  EXPECT_EQ(RunProgram({"plan", "--out", path}, WorldWith(EveryStepPlan())).err,
            Line("plan", Worded("ctl-plan-saved", path)));
  const auto saved = ReadPlanFile(path);
  ASSERT_TRUE(saved.ok()) << saved.status();
  EXPECT_EQ(saved->SerializeAsString(), EveryStepPlan().SerializeAsString());
  struct stat info = {};
  ASSERT_EQ(stat(path.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600u);
}

TEST(PlanCommandTest, ReplacesAnOlderPlanAndNothingElse) {
  const std::string older =
      TestFile("plan.json", PlanFileText(NothingToDo()).value());
  EXPECT_EQ(RunProgram({"plan", "--out", older}, WorldWith(TwoHosts())).status,
            0);
  EXPECT_EQ(ReadPlanFile(older)->digest(), TwoHosts().digest());

  const std::string spec = TestFile("cluster.yaml", "version: 1\n");
  ProgramWorld world = WorldWith(TwoHosts());
  WatchedController controller(world);
  EXPECT_THAT(
      RunProgram({"plan", "--out", spec}, world),
      Ends(3, Err(HasSubstr("--out " + Say("msg-target-not-a-plan", spec)))));
  EXPECT_EQ(FileContent(spec), "version: 1\n");
  EXPECT_FALSE(controller.plan_request().has_value());
}

TEST(PlanCommandTest, WritesThePlanToStdoutAndTheTableToStderr) {
  const ProgramOutput output =
      RunProgram({"plan", "--out", "-"}, WorldWith(TwoHosts()));
  EXPECT_EQ(output.status, 0);
  EXPECT_EQ(ParsePlanFile(output.out)->digest(), TwoHosts().digest());
  EXPECT_THAT(output.err, HasSubstr("PLAN: 4 steps on 2 hosts"));
}

TEST(PlanCommandTest, PrintsOneLineOrJsonThatIsAPlanFile) {
  EXPECT_THAT(RunProgram({"plan", "-o", "short"}, WorldWith(TwoHosts())).out,
              AllOf(StartsWith("demo: PLAN 4 steps on 2"),
                    EndsWith(TwoHosts().digest().substr(0, 12) + "\n")));
  const ProgramOutput json =
      RunProgram({"plan", "-o", "json"}, WorldWith(EveryStepPlan()));
  EXPECT_EQ(ParsePlanFile(json.out)->digest(), EveryStepPlan().digest());
  EXPECT_EQ(json.err, "");
}

TEST(PlanCommandTest, SaysThatThereIsNothingToDoAndSavesEvenThat) {
  const std::string path = TestFile("plan.json", "");
  EXPECT_THAT(RunProgram({"plan", "--out", path}, WorldWith(NothingToDo())),
              Ends(0, Err(Line("plan", Worded("ctl-plan-saved-empty", path))),
                   Out(Tells("plan-nothing", Counted(2, "host")))));
  EXPECT_EQ(ReadPlanFile(path)->digest(), NothingToDo().digest());
}

TEST(PlanCommandTest, AdvisesNoApplyWhereAllIsBlocked) {
  const std::string path = TestFile("plan.json", "");
  ClusterPlan plan = WithBlocked();
  EXPECT_THAT(RunProgram({"plan", "--out", path}, WorldWith(plan)).err,
              Tells("ctl-plan-saved", path));
  for (HostPlan& host : *plan.mutable_hosts()) host.clear_steps();
  Reseal(plan);
  EXPECT_THAT(
      RunProgram({"plan", "--out", path}, WorldWith(plan)),
      Ends(2, Err(Line("plan", Worded("ctl-plan-saved-blocked", path)))));
  EXPECT_EQ(ReadPlanFile(path)->digest(), plan.digest());
}

TEST(PlanCommandTest, ShowsPreconditionsAndUndoOnRequest) {
  EXPECT_THAT(RunProgram({"plan", "--verbose"}, WorldWith(TwoHosts())).out,
              HasSubstr("undo    write 4096\n"));
}

struct ExitCase {
  const char* name;
  ClusterPlan plan;
  int plain;
  int detailed;
};

ClusterPlan NoHosts() {
  ClusterPlan plan = TwoHosts();
  plan.clear_hosts();
  Reseal(plan);
  return plan;
}

TEST(PlanExitTest, IsAsTheHelpSays) {
  const ExitCase kExitCases[] = {
      {"NothingToDo", NothingToDo(), 0, 0},
      {"Changes", TwoHosts(), 0, 2},
      {"Blocked", WithBlocked(), 2, 1},
      {"LeftFailing", Left(FAIL, TwoHosts()), 2, 1},
      {"LeftUnknown", Left(UNKNOWN, TwoHosts()), 0, 2},
      {"LeftWarning", Left(WARN, NothingToDo()), 0, 0},
      {"LeavesOutAHost", SysctlPlan({"server0"}), 2, 1},
      {"NoHosts", NoHosts(), 2, 1}};
  for (const ExitCase& each : kExitCases) {
    SCOPED_TRACE(each.name);
    EXPECT_EQ(RunProgram({"plan"}, WorldWith(each.plan)).status, each.plain);
    EXPECT_EQ(RunProgram({"plan", "--detailed-exitcode"}, WorldWith(each.plan))
                  .status,
              each.detailed);
  }
}

TEST(PlanCommandTest, NamesTheHostsThatThePlanLeavesOut) {
  EXPECT_THAT(RunProgram({"plan"}, WorldWith(SysctlPlan({"server0"}))).err,
              Tells("ctl-plan-leaves-out", 1, "server1"));
}

TEST(PlanCommandTest, AsksForTheHostsAndTheNamespaceNamed) {
  ClusterPlan plan = SysctlPlan({"server1"});
  plan.mutable_hosts(0)->mutable_network_namespace()->set_pid(4711);
  Reseal(plan);
  ProgramWorld world = WorldWith(plan);
  WatchedController controller(world);
  EXPECT_THAT(RunProgram({"plan", "server[0-1]", "-x", "server0", "--netns",
                          "pid:4711"},
                         world),
              Ends(0, Out(HasSubstr("\nnetwork namespace pid:4711\n"))));
  const PlanRequest request = controller.plan_request().value();
  ASSERT_EQ(request.hosts_size(), 1);
  EXPECT_EQ(request.hosts(0), "server1");
  EXPECT_EQ(request.network_namespace().pid(), 4711u);
}

ClusterPlan OnlySysctl() {
  ClusterPlan plan = Left(FAIL, TwoHosts());
  plan.add_only("sysctl");
  plan.add_only("gateway");
  Reseal(plan);
  return plan;
}

TEST(PlanCommandTest, AsksForTheKindsAndRulesNamedAndSaysSo) {
  ProgramWorld world = WorldWith(OnlySysctl());
  WatchedController controller(world);
  EXPECT_THAT(RunProgram({"plan", "--only", "sysctl,gateway"}, world),
              Ends(0, Out(HasSubstr("PLAN: only sysctl,gateway: 4 steps")),
                   Out(HasSubstr("no step fixes   link\n"))));
  const PlanRequest request = controller.plan_request().value();
  ASSERT_EQ(request.only_size(), 2);
  EXPECT_EQ(request.only(0), "sysctl");
  EXPECT_EQ(request.only(1), "gateway");
}

TEST(PlanCommandTest, TakesNoPlanThatIsNarrowedInAnotherWay) {
  for (const ClusterPlan& plan : {TwoHosts(), OnlySysctl()}) {
    EXPECT_THAT(RunProgram({"plan", "--only", "sysctl"}, WorldWith(plan)),
                Ends(2, Err(Tells("msg-plan-not-narrowed"))));
  }
  EXPECT_EQ(RunProgram({"plan"}, WorldWith(OnlySysctl())).status, 2);
}

TEST(PlanCommandTest, TakesNoPlanForAnotherNamespace) {
  const std::string path = TestFile("plan.json", "");
  EXPECT_THAT(
      RunProgram({"plan", "--netns", "container:train-1", "--out", path},
                 WorldWith(TwoHosts())),
      Ends(2,
           Err(Tells("msg-plan-of-other-namespace", "", "container:train-1"))));
  EXPECT_EQ(FileContent(path), "");
}

TEST(PlanCommandTest, TakesNoPlanWithAWrongDigest) {
  ClusterPlan plan = TwoHosts();
  plan.mutable_hosts(0)->set_host("server9");
  EXPECT_THAT(RunProgram({"plan"}, WorldWith(plan)),
              Ends(2, Out(""),
                   Err(Tells("msg-plan-not-valid",
                             Worded("msg-plan-digest-differs",
                                    plan.digest().substr(0, 64))))));
}

TEST(PlanCommandTest, SavesNoPlanThatTheControllerCouldNotKeep) {
  ClusterPlan plan = TwoHosts();
  plan.set_not_kept("disk is full");
  const std::string path = TestFile("plan.json", "");
  EXPECT_THAT(RunProgram({"plan", "--out", path}, WorldWith(plan)),
              Ends(2,
                   Err(Line("plan", Worded("msg-plan-not-kept", "disk is full",
                                           Worded("ctl-plan-not-saved")))),
                   Out(HasSubstr("PLAN: 4 steps on 2 hosts"))));
  EXPECT_EQ(FileContent(path), "");
  // A plan to look at.
  EXPECT_THAT(
      RunProgram({"plan"}, WorldWith(plan)),
      Ends(0,
           Err(Line("plan", Worded("msg-plan-not-kept", "disk is full", "")))));
}

TEST(PlanCommandTest, IsNoPlanWhenItCannotBeSaved) {
  // /dev/full can be opened, but not written.
  EXPECT_THAT(
      RunProgram({"plan", "--out", "/dev/full"}, WorldWith(TwoHosts())),
      Ends(2, Err(Tells("msg-plan-file-not-written",
                        absl::StrCat("/dev/full: ", strerror(ENOSPC))))));
}

TEST(PlanMistakeTest, ExitsWithThreeNamesEveryMistakeAndAsksNobody) {
  const std::vector<Mistake> mistakes = {
      {"UnknownHost",
       {"server9"},
       {Say("msg-host-not-in-spec", "server9", "")}},
      {"Namespace", {"--netns", "train-1"}, {"--netns: "}},
      {"UnknownStep",
       {"--only", "sysclt,link"},
       {"--" + Say("msg-plan-only", "sysclt", Worded("did-you-mean", "sysctl")),
        "--only: \"link\" is not"}},
      {"NoFolder",
       {"--out", "/nonexistent/plan.json"},
       {"--out " + NoSuchFile("/nonexistent/plan.json")}},
      {"BothToStdout",
       {"--out", "-", "-o", "json"},
       {Say("msg-stdout-taken-twice")}},
      {"Everything",
       {"server7", "--netns", "pid:x", "--timeout", "y", "-o", "xml", "--color",
        "z"},
       {"server7", "--netns: ", "--timeout", "--output", "--color"}}};
  ExpectMistakes({"plan"}, mistakes, WorldWith(TwoHosts()),
                 &WatchedController::plan_request, "");
}

TEST(PlanCommandTest, SaysWhyThereIsNoPlan) {
  ProgramWorld world = WorldWith(TwoHosts());
  world.script.plan_status = {grpc::StatusCode::UNAVAILABLE, "Socket closed"};
  EXPECT_THAT(RunProgram({"plan"}, world),
              Ends(2,
                   Err(Line("plan", FromController(Worded("msg-call-broken",
                                                          "Socket closed")))),
                   Out("")));
  EXPECT_EQ(RunProgram({"plan", "--detailed-exitcode"}, world).status, 1);
  world.script.plan_status = grpc::Status::OK;
  world.script.plan_events.pop_back();
  EXPECT_THAT(RunProgram({"plan"}, world).err,
              Tells("msg-call-answer-missing", "planning", 0));
}

TEST(PlanCommandTest, ShowsProgressOnATerminalAndEndsOnCtrlC) {
  ProgramWorld world = WorldWith(TwoHosts());
  world.script.plan_events.pop_back();
  world.script.plan_hangs = true;
  world.terminal.err_is_terminal = true;
  world.interrupt_at = "awaiting server1";
  EXPECT_THAT(RunProgram({"plan"}, world),
              Ends(2, Err(HasSubstr("clusterctl plan: interrupted\n"))));
}

TEST(PlanCommandTest, SaysThatTheControllerPlansByAnOlderSpec) {
  ProgramWorld world = WorldWith(TwoHosts());
  world.script.spec.set_refused("cluster.yaml:3:1: wrong");
  EXPECT_THAT(
      RunProgram({"plan"}, world).err,
      Tells("msg-older-spec", Worded("ctl-plans"), "cluster.yaml:3:1: wrong"));
}

}  // namespace
}  // namespace clusterd
