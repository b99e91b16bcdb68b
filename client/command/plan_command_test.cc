// clusterctl plan from command line to exit status, over real gRPC against a
// controller with scripted answers.
#include <sys/stat.h>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "client/files/user_files.h"
#include "gtest/gtest.h"
#include "tests/support/client/fake_controller.h"
#include "tests/support/client/program_run.h"
#include "tests/support/client/sample_plan.h"

namespace clusterd {
namespace {

using Arguments = std::vector<std::string>;

ProgramWorld WorldWith(const ClusterPlan& plan) {
  ProgramWorld world;
  *world.script.spec.mutable_spec() = SpecOfServers(2);
  PlanEvent progress;
  progress.mutable_progress()->set_answered(1);
  progress.mutable_progress()->set_pending(1);
  progress.mutable_progress()->add_awaited("server1");
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
  const ProgramOutput table = RunProgram({"plan"}, WorldWith(plan));
  EXPECT_EQ(table.status, 2);
  EXPECT_TRUE(
      absl::StrContains(table.out,
                        "server0\n"
                        "  no step fixes   link\n"
                        "                  more    clusterctl check server0\n"
                        "\n"
                        "Nothing to do: server1\n"
                        "\n"
                        "PLAN: no step, 1 left failing, of 2 hosts; digest "))
      << table.out;
  const ProgramOutput brief =
      RunProgram({"plan", "-o", "short"}, WorldWith(plan));
  EXPECT_TRUE(absl::StrContains(brief.out, ": PLAN no step, 1 left failing"))
      << brief.out;
  const ProgramOutput json =
      RunProgram({"plan", "-o", "json"}, WorldWith(plan));
  EXPECT_EQ(ParsePlanFile(json.out)->hosts(0).unfixed(0).rule(), "link");
}

TEST(PlanCommandTest, PrintsTheFoldedPlanAndSaysHowToSaveIt) {
  const ProgramOutput output = RunProgram({"plan"}, WorldWith(TwoHosts()));
  EXPECT_EQ(output.status, 0) << output.err;
  EXPECT_EQ(output.out,
            absl::StrCat(
                "Cluster demo, atlas-training, plan for 2 hosts: server[0-1]\n"
                "\n"
                "server[0-1]\n"
                "  sysctl          net.core.somaxconn: 4096 -> 65535\n"
                "  sysctl          /etc/sysctl.d/90-clusterd.conf: "
                "net.core.somaxconn = 65535\n"
                "  also: sockets that listen keep their old limit\n"
                "\n"
                "PLAN: 4 steps on 2 hosts, of 2 hosts; digest ",
                TwoHosts().digest().substr(0, 12), "\n"));
  EXPECT_EQ(output.err,
            "clusterctl plan: not saved; --out FILE saves it for clusterctl "
            "apply FILE\n");
}

TEST(PlanCommandTest, SavesThePlanForItsOwnerAndSaysHowToApplyIt) {
  const std::string path = TestFile("plan.json", "");
  const ProgramOutput output =
      RunProgram({"plan", "--out", path}, WorldWith(EveryStepPlan()));
  EXPECT_EQ(output.err,
            absl::StrCat("clusterctl plan: saved to ", path,
                         "; apply with: clusterctl apply ", path, "\n"));
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
  FakeController controller(world.script);
  world.controller = &controller;
  const ProgramOutput output = RunProgram({"plan", "--out", spec}, world);
  EXPECT_EQ(output.status, 3);
  EXPECT_TRUE(absl::StrContains(
      output.err, absl::StrCat("--out ", spec, ": exists and is not a plan")))
      << output.err;
  EXPECT_EQ(FileContent(spec), "version: 1\n");
  EXPECT_FALSE(controller.plan_request().has_value());
}

TEST(PlanCommandTest, WritesThePlanToStdoutAndTheTableToStderr) {
  const ProgramOutput output =
      RunProgram({"plan", "--out", "-"}, WorldWith(TwoHosts()));
  EXPECT_EQ(output.status, 0);
  EXPECT_EQ(ParsePlanFile(output.out)->digest(), TwoHosts().digest());
  EXPECT_TRUE(absl::StrContains(output.err, "PLAN: 4 steps on 2 hosts"));
}

TEST(PlanCommandTest, PrintsOneLineOrJsonThatIsAPlanFile) {
  const ProgramOutput brief =
      RunProgram({"plan", "-o", "short"}, WorldWith(TwoHosts()));
  EXPECT_EQ(brief.out, absl::StrCat("demo: PLAN 4 steps on 2 hosts, of 2 "
                                    "hosts; digest ",
                                    TwoHosts().digest().substr(0, 12), "\n"));
  const ProgramOutput json =
      RunProgram({"plan", "-o", "json"}, WorldWith(EveryStepPlan()));
  EXPECT_EQ(ParsePlanFile(json.out)->digest(), EveryStepPlan().digest());
  EXPECT_EQ(json.err, "");
}

TEST(PlanCommandTest, SaysThatThereIsNothingToDoAndSavesEvenThat) {
  const std::string path = TestFile("plan.json", "");
  const ProgramOutput output =
      RunProgram({"plan", "--out", path}, WorldWith(NothingToDo()));
  EXPECT_EQ(output.status, 0);
  EXPECT_TRUE(absl::StrContains(output.out, "PLAN: nothing to do on 2 hosts"));
  EXPECT_EQ(output.err, absl::StrCat("clusterctl plan: saved to ", path,
                                     "; it has nothing to apply\n"));
  EXPECT_EQ(ReadPlanFile(path)->digest(), NothingToDo().digest());
}

TEST(PlanCommandTest, AdvisesNoApplyWhereAllIsBlocked) {
  const std::string path = TestFile("plan.json", "");
  ClusterPlan plan = WithBlocked();
  const ProgramOutput some =
      RunProgram({"plan", "--out", path}, WorldWith(plan));
  EXPECT_TRUE(absl::StrContains(some.err, "apply with: clusterctl apply"));
  for (HostPlan& host : *plan.mutable_hosts()) host.clear_steps();
  Reseal(plan);
  const ProgramOutput all =
      RunProgram({"plan", "--out", path}, WorldWith(plan));
  EXPECT_EQ(all.status, 2);
  EXPECT_EQ(all.err,
            absl::StrCat("clusterctl plan: saved to ", path,
                         "; it has nothing to apply: all of it is blocked\n"));
  EXPECT_EQ(ReadPlanFile(path)->digest(), plan.digest());
}

TEST(PlanCommandTest, ShowsPreconditionsAndUndoOnRequest) {
  EXPECT_TRUE(absl::StrContains(
      RunProgram({"plan", "--verbose"}, WorldWith(TwoHosts())).out,
      "undo    write 4096\n"));
}

struct ExitCase {
  const char* name;
  ClusterPlan plan;
  int plain;
  int detailed;
};

class PlanExitTest : public testing::TestWithParam<ExitCase> {};

TEST_P(PlanExitTest, IsAsTheHelpSays) {
  EXPECT_EQ(RunProgram({"plan"}, WorldWith(GetParam().plan)).status,
            GetParam().plain);
  EXPECT_EQ(
      RunProgram({"plan", "--detailed-exitcode"}, WorldWith(GetParam().plan))
          .status,
      GetParam().detailed);
}

ClusterPlan NoHosts() {
  ClusterPlan plan = TwoHosts();
  plan.clear_hosts();
  Reseal(plan);
  return plan;
}

INSTANTIATE_TEST_SUITE_P(
    Plans, PlanExitTest,
    testing::Values(ExitCase{"NothingToDo", NothingToDo(), 0, 0},
                    ExitCase{"Changes", TwoHosts(), 0, 2},
                    ExitCase{"Blocked", WithBlocked(), 2, 1},
                    ExitCase{"LeftFailing", Left(FAIL, TwoHosts()), 2, 1},
                    ExitCase{"LeftUnknown", Left(UNKNOWN, TwoHosts()), 0, 2},
                    ExitCase{"LeftWarning", Left(WARN, NothingToDo()), 0, 0},
                    ExitCase{"LeavesOutAHost", SysctlPlan({"server0"}), 2, 1},
                    ExitCase{"NoHosts", NoHosts(), 2, 1}),
    [](const auto& info) { return std::string(info.param.name); });

TEST(PlanCommandTest, NamesTheHostsThatThePlanLeavesOut) {
  EXPECT_TRUE(absl::StrContains(
      RunProgram({"plan"}, WorldWith(SysctlPlan({"server0"}))).err,
      "the plan leaves out 1 of the hosts asked for: server1"));
}

TEST(PlanCommandTest, AsksForTheHostsAndTheNamespaceNamed) {
  ClusterPlan plan = SysctlPlan({"server1"});
  plan.mutable_hosts(0)->mutable_network_namespace()->set_pid(4711);
  Reseal(plan);
  ProgramWorld world = WorldWith(plan);
  FakeController controller(world.script);
  world.controller = &controller;
  const ProgramOutput output = RunProgram(
      {"plan", "server[0-1]", "-x", "server0", "--netns", "pid:4711"}, world);
  EXPECT_EQ(output.status, 0) << output.err;
  EXPECT_TRUE(absl::StrContains(output.out, "\nnetwork namespace pid:4711\n"));
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
  FakeController controller(world.script);
  world.controller = &controller;
  const ProgramOutput output =
      RunProgram({"plan", "--only", "sysctl,gateway"}, world);
  EXPECT_EQ(output.status, 0) << output.err;
  EXPECT_TRUE(absl::StrContains(
      output.out, "PLAN: only sysctl,gateway: 4 steps on 2 hosts, of 2 hosts;"))
      << output.out;
  EXPECT_TRUE(absl::StrContains(output.out, "no step fixes   link\n"))
      << output.out;
  const PlanRequest request = controller.plan_request().value();
  ASSERT_EQ(request.only_size(), 2);
  EXPECT_EQ(request.only(0), "sysctl");
  EXPECT_EQ(request.only(1), "gateway");
}

TEST(PlanCommandTest, TakesNoPlanThatIsNarrowedInAnotherWay) {
  for (const ClusterPlan& plan : {TwoHosts(), OnlySysctl()}) {
    const ProgramOutput output =
        RunProgram({"plan", "--only", "sysctl"}, WorldWith(plan));
    EXPECT_EQ(output.status, 2);
    EXPECT_TRUE(absl::StrContains(output.err, "is not narrowed as --only asks"))
        << output.err;
  }
  EXPECT_EQ(RunProgram({"plan"}, WorldWith(OnlySysctl())).status, 2);
}

TEST(PlanCommandTest, TakesNoPlanForAnotherNamespace) {
  const std::string path = TestFile("plan.json", "");
  const ProgramOutput output =
      RunProgram({"plan", "--netns", "container:train-1", "--out", path},
                 WorldWith(TwoHosts()));
  EXPECT_EQ(output.status, 2);
  EXPECT_TRUE(absl::StrContains(output.err, "expected \"container:train-1\""))
      << output.err;
  EXPECT_EQ(FileContent(path), "");
}

TEST(PlanCommandTest, TakesNoPlanWithAWrongDigest) {
  ClusterPlan plan = TwoHosts();
  plan.mutable_hosts(0)->set_host("server9");
  const ProgramOutput output = RunProgram({"plan"}, WorldWith(plan));
  EXPECT_EQ(output.status, 2);
  EXPECT_EQ(output.out, "");
  EXPECT_TRUE(absl::StrContains(output.err,
                                "the controller's answer: plan: "
                                "digest"))
      << output.err;
}

TEST(PlanCommandTest, SavesNoPlanThatTheControllerCouldNotKeep) {
  ClusterPlan plan = TwoHosts();
  plan.set_not_kept("history.db: database or disk is full");
  const std::string path = TestFile("plan.json", "");
  const ProgramOutput output =
      RunProgram({"plan", "--out", path}, WorldWith(plan));
  EXPECT_EQ(output.status, 2);
  EXPECT_TRUE(absl::StrContains(output.out, "PLAN: 4 steps on 2 hosts"));
  EXPECT_EQ(output.err,
            "clusterctl plan: the controller could not keep this plan, so it "
            "cannot be applied: history.db: database or disk is full; the plan "
            "is not saved\n");
  EXPECT_EQ(FileContent(path), "");
}

TEST(PlanCommandTest, SaysOfAPlanToLookAtThatItWasNotKept) {
  ClusterPlan plan = TwoHosts();
  plan.set_not_kept("history.db: database or disk is full");
  const ProgramOutput output = RunProgram({"plan"}, WorldWith(plan));
  EXPECT_EQ(output.status, 0);
  EXPECT_EQ(output.err,
            "clusterctl plan: the controller could not keep this plan, so it "
            "cannot be applied: history.db: database or disk is full\n");
}

TEST(PlanCommandTest, IsNoPlanWhenItCannotBeSaved) {
  // /dev/full can be opened, but not written.
  const ProgramOutput output =
      RunProgram({"plan", "--out", "/dev/full"}, WorldWith(TwoHosts()));
  EXPECT_EQ(output.status, 2);
  EXPECT_TRUE(absl::StrContains(
      output.err,
      "--out /dev/full: No space left on device; the plan is not saved"))
      << output.err;
}

struct BadCase {
  const char* name;
  Arguments arguments;
  std::vector<std::string> messages;
};

class PlanMistakeTest : public testing::TestWithParam<BadCase> {};

TEST_P(PlanMistakeTest, ExitsWithThreeNamesEveryMistakeAndAsksNobody) {
  ProgramWorld world = WorldWith(TwoHosts());
  FakeController controller(world.script);
  world.controller = &controller;
  Arguments arguments = {"plan"};
  arguments.insert(arguments.end(), GetParam().arguments.begin(),
                   GetParam().arguments.end());
  const ProgramOutput output = RunProgram(arguments, world);
  EXPECT_EQ(output.status, 3);
  EXPECT_EQ(output.out, "");
  EXPECT_FALSE(controller.plan_request().has_value());
  for (const std::string& message : GetParam().messages) {
    EXPECT_TRUE(absl::StrContains(output.err, message)) << message << "\n"
                                                        << output.err;
  }
}

INSTANTIATE_TEST_SUITE_P(
    Mistakes, PlanMistakeTest,
    testing::Values(
        BadCase{"UnknownHost", {"server9"}, {"\"server9\" is not in the spec"}},
        BadCase{"Namespace", {"--netns", "train-1"}, {"--netns: "}},
        BadCase{"UnknownStep",
                {"--only", "sysclt,link"},
                {"--only: \"sysclt\" is not a kind of change",
                 "did you mean \"sysctl\"?", "--only: \"link\" is not"}},
        BadCase{"NoFolder",
                {"--out", "/nonexistent/plan.json"},
                {"--out /nonexistent/plan.json: No such file or directory"}},
        BadCase{"BothToStdout",
                {"--out", "-", "-o", "json"},
                {"--out: \"-\" and -o json both write to stdout"}},
        BadCase{"Everything",
                {"server7", "--netns", "pid:x", "--timeout", "y", "-o", "xml",
                 "--color", "z"},
                {"server7", "--netns: ", "--timeout", "--output", "--color"}}),
    [](const auto& info) { return std::string(info.param.name); });

TEST(PlanCommandTest, SaysWhyThereIsNoPlan) {
  ProgramWorld world = WorldWith(TwoHosts());
  world.script.plan_status =
      grpc::Status(grpc::StatusCode::UNAVAILABLE, "Socket closed");
  const ProgramOutput output = RunProgram({"plan"}, world);
  EXPECT_EQ(output.status, 2);
  EXPECT_EQ(output.out, "");
  EXPECT_EQ(output.err,
            "clusterctl plan: controller head:7443: the connection broke: "
            "Socket closed\n");
  EXPECT_EQ(RunProgram({"plan", "--detailed-exitcode"}, world).status, 1);
  world.script.plan_status = grpc::Status::OK;
  world.script.plan_events.pop_back();
  EXPECT_TRUE(absl::StrContains(RunProgram({"plan"}, world).err,
                                "ended the planning with 0 answers"));
}

TEST(PlanCommandTest, ShowsProgressOnATerminalAndEndsOnCtrlC) {
  ProgramWorld world = WorldWith(TwoHosts());
  world.script.plan_events.pop_back();
  world.script.plan_hangs = true;
  world.terminal.err_is_terminal = true;
  world.interrupt_at = "awaiting server1";
  const ProgramOutput output = RunProgram({"plan"}, world);
  EXPECT_EQ(output.status, 2);
  EXPECT_TRUE(absl::StrContains(output.err, "clusterctl plan: interrupted\n"));
}

TEST(PlanCommandTest, SaysThatTheControllerPlansByAnOlderSpec) {
  ProgramWorld world = WorldWith(TwoHosts());
  world.script.spec.set_refused("cluster.yaml:3:1: wrong");
  EXPECT_TRUE(absl::StrContains(RunProgram({"plan"}, world).err,
                                "refused a newer cluster.yaml and plans by the "
                                "one before: cluster.yaml:3:1: wrong; "));
}

}  // namespace
}  // namespace clusterd
