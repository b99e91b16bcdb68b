#include "config/rules/job/job_network.h"

#include <string>

#include "config/words/words.h"
#include "gmock/gmock.h"
#include "tests/support/config/judge_testing.h"

namespace clusterd {
namespace {

using ::testing::Contains, ::testing::HasSubstr;

void SetPod(TestCluster& cluster, int host, uint32_t pod) {
  for (DeviceFacts& device : *cluster.facts[host].mutable_devices()) {
    device.mutable_super_pod()->mutable_value()->set_super_pod_id(pod);
  }
}

void TakeDown(TestCluster& cluster) {
  cluster.SetDevices("link {value: DOWN}");
}

// A job on servers all of whose links are down.
TestCluster JobWithLinksDown(const char* product, int servers = 2) {
  TestCluster cluster(product, "", servers);
  TakeDown(cluster);
  cluster.StartJob();
  return cluster;
}

State Judged(const TestCluster& cluster, const char* rule = "job-super-pod") {
  return cluster.Check(rule).state();
}

// Why the job can run although its links are down.
std::string WhyUnused(const TestCluster& cluster) {
  const Finding finding = cluster.Check("link").findings(0);
  EXPECT_EQ(finding.weighed().words(), "roce-unused-by-job");
  return finding.why();
}

TEST(JobNetworkTest, OneServerWithoutCablingRunsItsJob) {
  for (const char* product : {"atlas-training", "atlas-a2", "atlas-a3"}) {
    TestCluster cluster(product, "", 1);
    TakeDown(cluster);
    for (DeviceFacts& device : *cluster.facts[0].mutable_devices()) {
      device.mutable_address()->mutable_value()->clear_settings();
    }
    EXPECT_EQ(Judged(cluster, "link"), FAIL) << product;
    cluster.StartJob();
    EXPECT_EQ(Judged(cluster, "link"), WARN) << product;
    EXPECT_EQ(Judged(cluster, "device-ip-set"), WARN) << product;
    EXPECT_EQ(Judged(cluster), PASS) << product;
    EXPECT_THAT(WhyUnused(cluster), HasSubstr("(1 server)")) << product;
  }
}

// Nobody ever set its devices or plugged in a cable.
TEST(JobNetworkTest, NoRuleFailsAJobInsideAServerAsDelivered) {
  for (const char* product : {"atlas-training", "atlas-a2", "atlas-a3"}) {
    TestCluster cluster(product, "", 1);
    cluster.MakeNew(0);
    TakeDown(cluster);
    EXPECT_EQ(cluster.MakeReport().verdict(), FAIL) << product;
    cluster.StartJob();
    const Report report = cluster.MakeReport();
    EXPECT_EQ(report.verdict(), WARN) << product;
    for (const RuleResult& result : report.rules()) {
      EXPECT_NE(result.state(), FAIL) << product << "\n" << Lines(result);
    }
  }
}

TEST(JobNetworkTest, PortsOfDevicesThatTheJobLeavesOutDoNotMatter) {
  TestCluster cluster("atlas-a2");
  cluster.device(1, 7).mutable_link()->set_value(LinkFact::DOWN);
  cluster.StartJob();
  EXPECT_EQ(Judged(cluster, "link"), FAIL);
  for (ServerSpec& server : *cluster.spec.mutable_servers()) {
    server.mutable_devices()->DeleteSubrange(4, 4);
  }
  EXPECT_EQ(Judged(cluster, "link"), PASS);
}

TEST(JobNetworkTest, SeveralServersNeedRoce) {
  TestCluster cluster = JobWithLinksDown("atlas-a2");
  EXPECT_EQ(Judged(cluster, "link"), FAIL);
  EXPECT_THAT(cluster.SetSpec("roce_unused: true").Check("job-super-pod"),
              Finds("FAIL cluster unused why=2 servers"));
}

TEST(JobNetworkTest, BothRingsOfABox16MeetOverRoce) {
  TestCluster cluster = JobWithLinksDown("atlas-a2-box16", 1);
  EXPECT_EQ(Judged(cluster, "link"), FAIL);
  EXPECT_THAT(
      cluster.Check("job-super-pod"),
      Finds(Say("network-both-rings", 8, Say("devices-several", "0-15"))));
  cluster.spec.mutable_servers(0)->mutable_devices()->DeleteSubrange(0, 8);
  EXPECT_EQ(Judged(cluster, "link"), WARN);
  EXPECT_EQ(Judged(cluster), PASS);
}

TEST(JobNetworkTest, OnlySeveralSuperPodsNeedRoce) {
  TestCluster cluster = JobWithLinksDown("atlas-a3-superpod");
  EXPECT_EQ(Judged(cluster), PASS);
  EXPECT_EQ(Judged(cluster, "link"), WARN);
  SetPod(cluster, 1, 1);
  EXPECT_EQ(Judged(cluster, "link"), FAIL);
  EXPECT_THAT(cluster.Check("job-super-pod"),
              Finds("unusable why=2 logical super pods: 0 (server0), 1 "
                    "(server1), ports=32 of 32 RoCE ports"));
  cluster.spec.set_roce_unused(true);
  EXPECT_EQ(Judged(cluster), FAIL);
}

TEST(JobNetworkTest, LogicalSuperPodsGoBeforeThoseOfTheChips) {
  TestCluster cluster = JobWithLinksDown("atlas-a3-superpod");
  cluster.SetInLogins(0, "HCCL_LOGIC_SUPERPOD_ID", "a");
  cluster.SetInLogins(1, "HCCL_LOGIC_SUPERPOD_ID", "b");
  EXPECT_EQ(Judged(cluster), FAIL);
  // The launch's value overrides that of every login.
  for (JobServer& server : *cluster.job->mutable_servers()) {
    server.set_logic_super_pod("one");
  }
  EXPECT_EQ(Judged(cluster), PASS);
  EXPECT_EQ(Judged(cluster, "link"), WARN);
  SetPod(cluster, 1, 1);
  EXPECT_THAT(cluster.Check("job-super-pod"),
              Finds("spread pod=one, hosts=server[0-1]"));
}

TEST(JobNetworkTest, ARankTableSaysTheSuperPods) {
  TestCluster cluster("atlas-a3-superpod");
  SetPod(cluster, 1, 1);
  const std::string two_pods = MakeRankTable(cluster.spec, true, "1.2");
  cluster.spec.set_roce_unused(true);
  cluster.StartJob().set_rank_table(two_pods);
  EXPECT_EQ(Judged(cluster), PASS);
  cluster.job->set_rank_table(MakeRankTable(cluster.spec));
  EXPECT_THAT(cluster.Check("job-super-pod"),
              Finds(Say("network-table-without-pods", Counted(2, "server"))));
}

// HCCL reads digits, and TRUE in any case.
TEST(JobNetworkTest, VariablesMayDemandRoceInEverySpelling) {
  for (const char* value : {"1", "01"}) {
    TestCluster one("atlas-a2", "", 1);
    TakeDown(one);
    one.spec.set_roce_unused(true);
    one.StartJob();
    EXPECT_EQ(Judged(one), PASS);
    one.SetInLogins(0, "HCCL_INTRA_ROCE_ENABLE", value);
    EXPECT_THAT(one.Check("job-super-pod"),
                Finds("HCCL_INTRA_ROCE_ENABLE=1 on server0"));
    one.spec.set_roce_unused(false);
    EXPECT_EQ(Judged(one, "link"), FAIL) << value;
  }
  TestCluster pod("atlas-a3-superpod");
  pod.spec.set_roce_unused(true);
  pod.StartJob();
  pod.SetInLogins(1, "HCCL_INTER_HCCS_DISABLE", "TRUE");
  EXPECT_EQ(Judged(pod), FAIL);
}

// No variable changes that.
TEST(JobNetworkTest, OneDeviceHasNoPeer) {
  TestCluster cluster("atlas-a2", "", 1);
  TakeDown(cluster);
  cluster.SetInLogins(0, "HCCL_INTRA_ROCE_ENABLE", "1");
  cluster.StartJob();
  EXPECT_EQ(Judged(cluster, "link"), FAIL);
  auto* const devices = cluster.spec.mutable_servers(0)->mutable_devices();
  devices->DeleteSubrange(1, devices->size() - 1);
  EXPECT_EQ(Judged(cluster, "link"), WARN);
  EXPECT_EQ(Judged(cluster), PASS);
  EXPECT_THAT(WhyUnused(cluster), HasSubstr("(1 device)"));
}

TEST(JobNetworkTest, ASuperPodThatIsNotKnownMakesFailuresUnknown) {
  TestCluster cluster = JobWithLinksDown("atlas-a3-superpod");
  for (DeviceFacts& device : *cluster.facts[1].mutable_devices()) {
    SetMissing(Missing::TIMED_OUT, "", device.mutable_super_pod());
  }
  EXPECT_EQ(Judged(cluster, "link"), UNKNOWN);
  EXPECT_THAT(cluster.Check("job-super-pod"),
              Finds("UNKNOWN server1 pod-not-known what=super pod"));
}

// export HCCL_LOGIC_SUPERPOD_ID=$(hostname)
TEST(JobNetworkTest, AVariableThatOnlyAShellKnowsIsNamedWithItsLine) {
  for (const char* name : {"HCCL_LOGIC_SUPERPOD_ID", "HCCL_INTRA_ROCE_ENABLE",
                           "HCCL_INTER_HCCS_DISABLE"}) {
    TestCluster cluster = JobWithLinksDown("atlas-a3-superpod");
    cluster.SetInLogins(1, name, "").set_computed(true);
    const std::string value =
        std::string("value of ") + name + " (/etc/environment:1)";
    EXPECT_THAT(cluster.Check("job-super-pod"),
                Finds("UNKNOWN server1 pod-not-known what=" + value + "\n"));
    const RuleResult link = cluster.Check("link");
    EXPECT_EQ(link.state(), UNKNOWN) << name;
    EXPECT_EQ(link.findings(0).weighed().words(), "roce-of-job-not-known");
    EXPECT_THAT(link.findings(0).why(), HasSubstr(value + " on server1"));
    cluster.SetInLogins(0, name, "").set_computed(true);
    EXPECT_THAT(cluster.Check("link").findings(0).why(),
                HasSubstr(value + " on server[0-1]"));
    // The job's own value overrides it.
    cluster.SetInJob(name, "0");
    EXPECT_EQ(Judged(cluster), PASS) << name;
  }
}

TEST(JobNetworkTest, ADemandUnderAConditionIsNotKnownEither) {
  TestCluster one("atlas-a2", "", 1);
  one.spec.set_roce_unused(true);
  one.StartJob();
  EnvironmentVariable& line = one.SetInLogins(0, "HCCL_INTRA_ROCE_ENABLE", "0");
  line.set_conditional(true);
  EXPECT_EQ(Judged(one), PASS);
  line.set_value("1");
  EXPECT_EQ(Judged(one), UNKNOWN);
}

TEST(JobNetworkTest, AHostAloneKnowsThatTheJobHasOtherServers) {
  TestCluster cluster("atlas-a2", "", 1);
  TakeDown(cluster);
  cluster.StartJob().set_other_servers(1);
  JudgeOptions options;
  options.one_host = true;
  const Report report = cluster.MakeReport(options);
  for (const RuleResult& result : report.rules()) {
    if (result.rule() == "link") {
      EXPECT_EQ(result.state(), FAIL);
    }
  }
}

TEST(JobNetworkTest, AnInventorySaysWhichJobsCanRun) {
  TestCluster cluster("atlas-a2");
  EXPECT_EQ(cluster.MakeReport().notes_size(), 1);  // The simulation's.
  EXPECT_THAT(cluster.Set(1, 3, "link {value: DOWN}").MakeReport().notes(),
              Contains(Say("jobs-none-across", "server")));
  TestCluster three("atlas-a2", "", 3);
  EXPECT_THAT(three.Set(1, 3, "link {value: DOWN}").MakeReport().notes(),
              Contains(Say("jobs-across", "server", "server[0,2]")));
  TestCluster pods("atlas-a3-superpod");
  pods.spec.set_roce_unused(true);
  EXPECT_EQ(Judged(pods), SKIPPED);
  SetPod(pods, 1, 1);
  EXPECT_EQ(Judged(pods), FAIL);  // One job takes all of its servers.
  pods.spec.clear_one_job();
  EXPECT_EQ(Judged(pods), WARN);
  EXPECT_THAT(pods.MakeReport().notes(),
              Contains(Say("jobs-roce-unused", "logical super pod")));
  // Both rings of one server are enough.
  TestCluster rings("atlas-a2-box16");
  EXPECT_THAT(rings.Set(1, 3, "link {value: DOWN}").MakeReport().notes(),
              Contains(Say("jobs-across", "ring", "server0")));
  EXPECT_THAT(rings.Set(0, 9, "link {value: DOWN}").MakeReport().notes(),
              Contains(Say("jobs-none-across", "ring")));
}

TEST(JobNetworkTest, ModeAmpIsReportedAndFailsNoJob) {
  TestCluster cluster("atlas-training", "amp");
  EXPECT_THAT(cluster.MakeReport().notes(),
              Contains(HasSubstr("jobs: mode is amp")));
  cluster.StartJob();
  EXPECT_EQ(Judged(cluster), WARN);
}

// Skipped like other rules about jobs, so that reports fold them together.
TEST(JobSuperPodTest, DoesNotRunWhereNoJobIsNamedAndNothingIsWrong) {
  const RuleResult result = TestCluster("atlas-a2").Check("job-super-pod");
  EXPECT_EQ(result.state(), SKIPPED);
  EXPECT_EQ(result.skip_words().words(), "rule-no-job");
  EXPECT_TRUE(result.not_run());
}

}  // namespace
}  // namespace clusterd
