// clusterctl plan, apply and rollback with the real programs: the output of a
// success, and everything that prevents an apply.
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <fstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "config/words/subject_text.h"
#include "config/words/words.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/e2e/change_cluster.h"
#include "tests/support/wait/telling.h"
#include "tests/support/wait/test_file.h"

namespace clusterd {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

// A new server's kernel, a typing mistake and a lost detect address.
const std::vector<std::string> kWrongSettings = {
    "host:somaxconn=4096", "host:reserved_ports=none", "host:persistent=none",
    "3:netmask=255.255.255.128", "5:detect=none"};
// Settings that another administrator may have left.
const std::vector<std::string> kOtherWrongSettings = {
    "host:syn_backlog=2048", "host:reserved_ports=8080,60000-60007",
    "2:address=192.168.9.9", "host:hccn_conf=crlf"};

std::vector<std::string> KindsAndOutcomes(
    const std::vector<HistoryEntry>& history) {
  std::vector<std::string> lines;
  for (const HistoryEntry& entry : history) {
    lines.push_back(absl::StrCat(HistoryKind_Name(entry.kind()), " ",
                                 entry.outcome(), " by ",
                                 ActorName(entry.actor())));
  }
  return lines;
}

TEST(ApplyTest, BringsServersToTheSpecAndBackByteForByte) {
  ChangeCluster cluster(2);
  cluster.Break("server0", kWrongSettings);
  cluster.Break("server1", kOtherWrongSettings);
  cluster.StartAll();
  const ServerState before0 = cluster.Server("server0");
  const ServerState before1 = cluster.Server("server1");
  EXPECT_EQ(cluster.Check().process.exit_status, 1);
  const ClusterPlan plan = cluster.Plan();
  ASSERT_EQ(plan.hosts_size(), 2);
  EXPECT_THAT(plan.hosts(0).blocked(), IsEmpty());
  EXPECT_THAT(plan.hosts(1).blocked(), IsEmpty());
  EXPECT_THAT(DifferencesFrom(before0, cluster.Server("server0")), IsEmpty());

  const ChangeOutcome applied = cluster.Apply();
  EXPECT_EQ(applied.process.exit_status, 0) << applied.process.standard_output;
  EXPECT_EQ(applied.Host("server0").outcome(), ApplyResult::APPLIED);
  EXPECT_EQ(applied.Host("server1").outcome(), ApplyResult::APPLIED);
  const CheckOutcome good = cluster.Check();
  EXPECT_EQ(good.process.exit_status, 0) << good.process.standard_output;
  const ProcessResult again = cluster.RunClusterctl({"plan"});
  EXPECT_EQ(again.exit_status, 0) << again.standard_error;
  EXPECT_THAT(again.standard_output, HasSubstr("nothing to do on 2 hosts"));

  const std::string id = applied.report.apply_id();
  const ChangeOutcome back = cluster.RollBack(id);
  EXPECT_EQ(back.process.exit_status, 0) << back.process.standard_output;
  EXPECT_THAT(DifferencesFrom(before0, cluster.Server("server0")), IsEmpty());
  EXPECT_THAT(DifferencesFrom(before1, cluster.Server("server1")), IsEmpty());
  EXPECT_EQ(cluster.Check().process.exit_status, 1);

  const std::vector<HistoryEntry> history = cluster.History();
  EXPECT_THAT(
      KindsAndOutcomes(history),
      ElementsAre(
          "HISTORY_CHECK fail by admin", "HISTORY_ROLLBACK succeeded by admin",
          "HISTORY_PLAN empty by admin", "HISTORY_CHECK pass by admin",
          "HISTORY_APPLY rolled back by admin", "HISTORY_PLAN changes by admin",
          "HISTORY_CHECK fail by admin"));
  ASSERT_EQ(history.size(), 7u);
  EXPECT_EQ(history[4].id(), id);
  EXPECT_EQ(history[1].parent_id(), id);
  EXPECT_EQ(history[4].parent_id(), plan.plan_id());
  for (const HistoryEntry& entry : history) {
    EXPECT_GT(entry.started_at_ms(), 0);
    EXPECT_THAT(cluster.ShowText(entry.id()),
                AllOf(HasSubstr(entry.id()), HasSubstr("by admin"),
                      HasSubstr("server")));
  }
  EXPECT_THAT(cluster.ShowText(id), HasSubstr("rolled back"));
}

TEST(ApplyTest, DoesNothingWithAPlanThatHasNothingToDo) {
  ChangeCluster cluster(1);
  cluster.StartAllAndPlan();
  const ChangeOutcome nothing = cluster.Apply();
  EXPECT_EQ(nothing.process.exit_status, 0) << nothing.process.standard_error;
  EXPECT_THAT(nothing.process.standard_error, HasSubstr("nothing to do"));
  EXPECT_THAT(KindsAndOutcomes(cluster.History()),
              ElementsAre("HISTORY_PLAN empty by admin"));
}

TEST(ApplyTest, RefusesAnEditedPlanBeforeAnybodyIsAsked) {
  ChangeCluster cluster(1);
  cluster.Break("server0", {"host:somaxconn=4096"});
  cluster.StartAllAndPlan();
  const ServerState before = cluster.Server("server0");
  const std::string text = TextOfFile(cluster.PlanPath());
  const std::string edited =
      absl::StrReplaceAll(text, {{"\"65535\"", "\"65534\""}});
  ASSERT_NE(edited, text);
  std::ofstream(cluster.PlanPath()) << edited;
  const ChangeOutcome refused = cluster.Apply();
  EXPECT_EQ(refused.process.exit_status, 3);
  EXPECT_THAT(refused.process.standard_error,
              AllOf(HasSubstr(cluster.PlanPath()), HasSubstr("digest")));
  EXPECT_THAT(DifferencesFrom(before, cluster.Server("server0")), IsEmpty());
  EXPECT_THAT(KindsAndOutcomes(cluster.History()),
              ElementsAre("HISTORY_PLAN changes by admin"));
}

constexpr char kWholeLine[] = "\"allow: [observe, sysctl, device-address]\"";

TEST(VetoTest, HostThatAllowsLessStopsTheLaterWaves) {
  ChangeCluster cluster(3);
  std::vector<ServerState> before;
  for (const char* host : {"server0", "server1", "server2"}) {
    cluster.Break(host, {"host:somaxconn=4096", "3:detect=none"});
    before.push_back(cluster.Server(host));
  }
  cluster.StartAllAndPlan();
  // The permission changed after the plan: the host itself decides.
  cluster.Allow("server1", "observe, device-address");
  const ChangeOutcome outcome = cluster.Apply({"--wave", "1"});
  EXPECT_EQ(outcome.process.exit_status, 1);
  EXPECT_EQ(outcome.report.outcome(), ApplyReport::STOPPED);
  EXPECT_EQ(outcome.Host("server0").outcome(), ApplyResult::APPLIED);
  EXPECT_EQ(outcome.Host("server1").outcome(), ApplyResult::REFUSED);
  EXPECT_THAT(outcome.Host("server1").error(),
              AllOf(HasSubstr("does not allow sysctl"),
                    Tells("plan-say-allows", "observe, device-address"),
                    Tells("plan-say-allow-put", kWholeLine,
                          cluster.folder() + "/server1.yaml"),
                    Not(HasSubstr("not allow device"))));
  EXPECT_EQ(outcome.Host("server2").outcome(), ApplyResult::NOT_STARTED);
  EXPECT_THAT(outcome.Host("server2").error(), HasSubstr("earlier wave"));
  EXPECT_THAT(DifferencesFrom(before[0], cluster.Server("server0")),
              Not(IsEmpty()));
  EXPECT_THAT(DifferencesFrom(before[1], cluster.Server("server1")), IsEmpty());
  EXPECT_THAT(DifferencesFrom(before[2], cluster.Server("server2")), IsEmpty());

  const std::string id = outcome.report.apply_id();
  EXPECT_THAT(cluster.ShowText(id),
              HasSubstr(absl::StrCat("clusterctl rollback ", id)));
  const ChangeOutcome back = cluster.RollBack(id);
  EXPECT_EQ(back.process.exit_status, 0) << back.process.standard_output;
  EXPECT_EQ(back.report.hosts_size(), 1);
  EXPECT_EQ(back.Host("server0").outcome(), ApplyResult::ROLLED_BACK);
  EXPECT_THAT(DifferencesFrom(before[0], cluster.Server("server0")), IsEmpty());

  // agent.yaml takes effect at once, and the plan is still valid.
  cluster.Allow("server1", "sysctl, device-address");
  const ChangeOutcome allowed = cluster.Apply();
  EXPECT_EQ(allowed.process.exit_status, 0) << allowed.process.standard_output;
  EXPECT_EQ(allowed.Host("server1").outcome(), ApplyResult::APPLIED);
}

TEST(VetoTest, PlanLeavesOutWhatAHostDoesNotAllowAndSaysWhatToWrite) {
  ChangeCluster cluster(3);
  for (const char* host : {"server0", "server1", "server2"}) {
    cluster.Break(host, {"host:somaxconn=4096", "3:detect=none"});
  }
  cluster.Allow("server1", "observe, device-address");
  cluster.StartAll();
  const ProcessResult plan =
      cluster.RunClusterctl({"plan", "--out", cluster.PlanPath()});
  EXPECT_EQ(plan.exit_status, 2) << plan.standard_output;
  const std::string path = cluster.folder() + "/server1.yaml";
  std::string text;  // Without its line breaks.
  for (const absl::string_view word : absl::StrSplit(
           plan.standard_output, absl::ByAnyChar(" \n"), absl::SkipEmpty())) {
    absl::StrAppend(&text, word, " ");
  }
  EXPECT_THAT(text,
              AllOf(HasSubstr("blocked net.core.somaxconn: 4096 -> 65535"),
                    Tells("plan-say-not-allowed", "sysctl",
                          Worded("plan-say-allows", "observe, device-address")),
                    Tells("plan-say-allow-put", kWholeLine, path)));
  const ChangeOutcome outcome = cluster.Apply({"--wave", "1"});
  EXPECT_EQ(outcome.process.exit_status, 0) << outcome.process.standard_output;
  EXPECT_EQ(outcome.report.outcome(), ApplyReport::SUCCEEDED);
  for (const char* host : {"server0", "server1", "server2"}) {
    EXPECT_EQ(outcome.Host(host).outcome(), ApplyResult::APPLIED) << host;
  }
  EXPECT_GT(outcome.Host("server0").steps_size(), 1);
  EXPECT_EQ(outcome.Host("server1").steps_size(), 1);

  const ProcessResult described =
      cluster.RunClusterctl({"describe", "server1"});
  EXPECT_THAT(
      described.standard_output,
      HasSubstr(absl::StrCat("allows observe, device-address (", path, ")")));
  cluster.Allow("server1", "observe, sysctl, device-address");
  const ClusterPlan again = cluster.Plan();
  for (const HostPlan& host : again.hosts()) {
    EXPECT_EQ(host.steps().empty(), host.host() != "server1");
  }
}

TEST(LeavingClientTest, LeavesTheRunToTheController) {
  ChangeCluster cluster(1);
  cluster.Break("server0", {"3:address=192.168.9.9"});
  cluster.StartAllAndPlan();
  DeviceGate gate(cluster.Root("server0"));
  const auto apply = cluster.StartApply();
  const std::string id = WaitForRunId(apply.get());
  // A cancel before the host begins would test nothing.
  ASSERT_TRUE(cluster.WaitForJournal("server0", id, 2));
  apply->Signal(SIGINT);
  apply->ExpectError("cancelled by admin");
  apply->Signal(SIGINT);
  const ChangeOutcome left = FinishChange(apply.get());
  EXPECT_EQ(left.process.exit_status, 2);
  EXPECT_THAT(left.process.standard_error,
              AllOf(HasSubstr(id), HasSubstr("ends in the controller")));
  EXPECT_EQ(left.report.outcome(), ApplyReport::RUNNING);
  EXPECT_EQ(cluster.Show(id).outcome(), ApplyReport::RUNNING);
  gate.Open();
  EXPECT_TRUE(WaitUntil(
      [&] { return cluster.Show(id).outcome() == ApplyReport::SUCCEEDED; }));
}

TEST(ForceTest, GoesOnWhileAProcessHoldsTheDeviceAndIsKept) {
  ChangeCluster cluster(1);
  cluster.Break("server0", {"3:address=192.168.9.9"});
  cluster.StartAllAndPlan();
  const ServerState before = cluster.Server("server0");
  const int device = open((cluster.Root("server0") + "/dev/davinci3").c_str(),
                          O_RDONLY | O_CLOEXEC);
  ASSERT_GE(device, 0);
  const std::string in_use =
      absl::StrCat("device 3 is in use by process ", getpid(), " (");
  const ChangeOutcome refused = cluster.Apply();
  EXPECT_EQ(refused.process.exit_status, 1);
  EXPECT_EQ(refused.Host("server0").outcome(), ApplyResult::REFUSED);
  EXPECT_THAT(refused.Host("server0").error(), HasSubstr(in_use));
  EXPECT_THAT(DifferencesFrom(before, cluster.Server("server0")), IsEmpty());

  const ChangeOutcome forced = cluster.Apply({"--force"});
  EXPECT_EQ(forced.process.exit_status, 0) << forced.process.standard_output;
  EXPECT_THAT(forced.Host("server0").forced(), ElementsAre(HasSubstr(in_use)));
  const std::vector<HistoryEntry> history = cluster.History();
  EXPECT_TRUE(history[0].force());
  EXPECT_FALSE(history[1].force());
  EXPECT_TRUE(cluster.Show(history[0].id()).force());
  EXPECT_THAT(cluster.ShowText(history[0].id()),
              AllOf(HasSubstr("forced"), HasSubstr(in_use)));
  close(device);
}

}  // namespace
}  // namespace clusterd
