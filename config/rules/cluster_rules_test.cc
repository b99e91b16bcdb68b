#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/config/judge_testing.h"

namespace clusterd {
namespace {

using ::testing::HasSubstr;

// A cluster of which only the number of servers matters.
TestCluster Sized(const char* product, int servers) {
  TestCluster cluster(product, "", 1);
  for (int i = 1; i < servers; ++i) cluster.spec.add_servers();
  return cluster;
}

TEST(CheckClusterSizeTest, FailsAboveTheProductsBound) {
  EXPECT_EQ(Sized("atlas-training", 512).Check("cluster-size").state(), PASS);
  EXPECT_EQ(Sized("atlas-a2", 1152).Check("cluster-size").state(), PASS);
  EXPECT_EQ(Sized("atlas-a3", 1153).Check("cluster-size").state(), FAIL);
  EXPECT_EQ(
      Lines(Sized("atlas-training", 513).Check("cluster-size")),
      "FAIL cluster 513 servers | at most 512 servers of Atlas training "
      "series (SMP) | split the cluster in cluster.yaml into 2 or more\n");
}

TEST(CheckClusterSizeTest, JudgesNoInventoryAsIfItWereOneJob) {
  TestCluster cluster = Sized("atlas-a3", 1153);
  cluster.spec.set_one_job(false);
  for (const char* rule : {"cluster-size", "cluster-size-power"}) {
    const RuleResult result = cluster.Check(rule);
    EXPECT_EQ(result.state(), SKIPPED) << rule;
    EXPECT_EQ(result.skip_reason(),
              "the spec does not say that one job takes all servers (job)");
    EXPECT_EQ(result.findings_size(), 0) << rule;
  }
}

TEST(CheckClusterSizeTest, IsSkippedWithoutABound) {
  const RuleResult result = Sized("atlas-300t", 3).Check("cluster-size");
  EXPECT_EQ(result.state(), SKIPPED);
  EXPECT_THAT(result.skip_reason(), HasSubstr("no bound is known"));
}

TEST(CheckClusterSizePowerTest, WarnsUnlessItIsAPowerOfTwo) {
  for (const int servers : {1, 2, 64, 1024}) {
    EXPECT_EQ(Sized("atlas-a2", servers).Check("cluster-size-power").state(),
              PASS);
  }
  EXPECT_EQ(Lines(Sized("atlas-a2", 1152).Check("cluster-size-power")),
            "WARN cluster 1152 servers | a power of two | use 1024 or 2048 "
            "servers for a job if you can choose\n");
}

TEST(CheckClusterSizePowerTest, IsSkippedWithoutServers) {
  TestCluster cluster;
  cluster.spec.clear_servers();
  EXPECT_EQ(cluster.Check("cluster-size-power").state(), SKIPPED);
  EXPECT_EQ(cluster.Check("cluster-size").state(), SKIPPED);
}

TEST(CheckHostIdentityTest, IsUnknownForAHostThatNeverAttached) {
  TestCluster cluster;
  cluster.Silence(1);
  const RuleResult result = cluster.Check("host-identity");
  EXPECT_EQ(result.state(), UNKNOWN);
  EXPECT_THAT(Lines(result),
              HasSubstr("UNKNOWN server1 no facts: no answer: never attached"));
  EXPECT_EQ(result.summary(), "1 of 2 hosts");
}

TEST(CheckHostIdentityTest, FoldsHostsThatAreSilentAlike) {
  TestCluster cluster;
  cluster.Silence(0);
  cluster.Silence(1);
  const RuleResult result = cluster.Check("host-identity");
  ASSERT_EQ(result.findings_size(), 1);
  EXPECT_EQ(Who(result.findings(0)), "server0 server1");
}

TEST(CheckHostIdentityTest, NamesTheDeadlineToRaiseForASlowHost) {
  TestCluster cluster;
  cluster.facts[1] = MakeSilentHost("server1", Missing::TIMED_OUT,
                                    "no facts in 60s (deadlines.run)");
  EXPECT_THAT(Lines(cluster.Check("host-identity")),
              HasSubstr("raise deadlines.host or deadlines.run"));
}

TEST(CheckHostIdentityTest, FailsForTwoMachinesUnderOneName) {
  TestCluster cluster;
  cluster.facts[1].set_conflict("two machines: 10.0.0.7 and 10.0.0.8");
  const RuleResult result = cluster.Check("host-identity");
  EXPECT_EQ(result.state(), FAIL);
  EXPECT_THAT(Lines(result),
              HasSubstr("FAIL server1 two machines: 10.0.0.7 and 10.0.0.8"));
}

}  // namespace
}  // namespace clusterd
