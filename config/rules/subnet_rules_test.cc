#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/config/judge_testing.h"

namespace clusterd {
namespace {

using ::testing::HasSubstr;

constexpr char kMask[] = "255.255.255.0";

TEST(CheckSubnetPairsTest, NamesThePairAndTheDeviceToChange) {
  TestCluster cluster;
  cluster.SetAddress(0, 7, "192.168.104.2", kMask);
  EXPECT_EQ(Lines(cluster.Check("subnet-pairs")),
            "FAIL server0:3,7 [device-ip-planned] device 3 has "
            "192.168.103.1/24, device 7 has "
            "192.168.104.2/24 | devices 3 and 7 in one subnet | hccn_tool -i 7 "
            "-ip -s address 192.168.103.2 netmask 255.255.255.0\n");
}

TEST(CheckSubnetPairsTest, ComparesMasksToo) {
  TestCluster cluster;
  cluster.SetAddress(0, 7, "192.168.103.2", "255.255.255.128");
  EXPECT_EQ(cluster.Check("subnet-pairs").state(), FAIL);
}

TEST(CheckSubnetPairsTest, BlamesThePlanWhenDevicesFollowIt) {
  TestCluster cluster;
  cluster.SetAddress(0, 7, "192.168.104.2", kMask);
  cluster.PlanAddress(0, 7, "192.168.104.2", kMask);
  EXPECT_THAT(Lines(cluster.Check("subnet-pairs")),
              HasSubstr("correct the addresses in cluster.yaml"));
}

TEST(CheckSubnetPairsTest, AppliesToTheSmpModeOnly) {
  EXPECT_EQ(TestCluster("atlas-training", "amp").Check("subnet-pairs").state(),
            SKIPPED);
  const RuleResult a2 = TestCluster("atlas-a2").Check("subnet-pairs");
  EXPECT_EQ(a2.state(), SKIPPED);
  EXPECT_THAT(a2.skip_reason(), HasSubstr("Atlas A2 training series"));
}

TEST(CheckSubnetPairsTest, DoesNotPassForPairsThatAreNotThere) {
  TestCluster cluster("atlas-training", "", 1);
  cluster.facts[0].mutable_devices()->DeleteSubrange(1, 7);
  cluster.facts[0].mutable_device_ids()->mutable_value()->clear_ids();
  EXPECT_EQ(cluster.Check("subnet-pairs").state(), SKIPPED);
}

TEST(CheckSubnetDistinctTest, NamesDevicesThatShareASubnet) {
  TestCluster cluster;
  cluster.SetAddress(0, 1, "192.168.100.9", kMask);
  const RuleResult result = cluster.Check("subnet-distinct");
  ASSERT_EQ(result.findings_size(), 1);
  EXPECT_EQ(Who(result.findings(0)), "server0:0-1");
  EXPECT_EQ(result.findings(0).fix(),
            "hccn_tool -i 1 -ip -s address 192.168.101.1 netmask "
            "255.255.255.0");
}

TEST(CheckSubnetDistinctTest, SeesSubnetsThatOverlap) {
  TestCluster cluster;
  cluster.SetAddress(0, 6, "192.168.102.2", "255.255.0.0");
  const RuleResult result = cluster.Check("subnet-distinct");
  ASSERT_EQ(result.findings_size(), 1);
  EXPECT_EQ(Who(result.findings(0)), "server0:4-7");
}

TEST(CheckSubnetDistinctTest, AllowsTheTwoGroupsToMeet) {
  EXPECT_EQ(TestCluster().Check("subnet-distinct").state(), PASS);
}

TEST(CheckSubnetAcrossHostsTest, TakesTheSubnetOfMostHosts) {
  TestCluster cluster("atlas-training", "", 4);
  cluster.SetAddress(2, 3, "192.168.99.9", kMask);
  EXPECT_EQ(Lines(cluster.Check("subnet-across-hosts")),
            "FAIL server2:3 [device-ip-planned] 192.168.99.9/24 lies in "
            "192.168.99.0/24 | "
            "192.168.103.0/24, as on 3 other hosts | hccn_tool -i 3 -ip -s "
            "address 192.168.103.5 netmask 255.255.255.0\n");
}

TEST(CheckSubnetAcrossHostsTest, LetsThePlanDecideBetweenTwoHosts) {
  for (const int wrong : {0, 1}) {
    TestCluster cluster;
    cluster.SetAddress(wrong, 3, "192.168.99.9", kMask);
    const RuleResult result = cluster.Check("subnet-across-hosts");
    ASSERT_EQ(result.findings_size(), 1);
    EXPECT_EQ(Who(result.findings(0)), absl::StrCat("server", wrong, ":3"));
  }
}

TEST(CheckSubnetAcrossHostsTest, AsksForAnotherPlanWhereThePlanIsWrongOrNone) {
  for (const char* planned : {"192.168.99.9", ""}) {
    TestCluster cluster("atlas-training", "", 4);
    cluster.SetAddress(2, 3, "192.168.99.9", kMask);
    cluster.PlanAddress(2, 3, planned, *planned == 0 ? "" : kMask);
    const RuleResult result = cluster.Check("subnet-across-hosts");
    ASSERT_EQ(result.findings_size(), 1);
    EXPECT_EQ(result.findings(0).fix(),
              "plan an address in 192.168.103.0/24 for the device in "
              "cluster.yaml and set it");
  }
}

TEST(CheckSubnetAcrossHostsTest, ComparesMasksToo) {
  TestCluster cluster("atlas-training", "", 4);
  cluster.SetAddress(2, 3, "192.168.103.5", "255.255.255.128");
  EXPECT_EQ(cluster.Check("subnet-across-hosts").state(), FAIL);
}

TEST(CheckSubnetAcrossHostsTest, IsSkippedForOneHost) {
  TestCluster cluster;
  cluster.Silence(1);
  const RuleResult result = cluster.Check("subnet-across-hosts");
  EXPECT_EQ(result.state(), SKIPPED);
  EXPECT_THAT(result.skip_reason(), HasSubstr("fewer than two hosts"));
}

TEST(CheckSubnetAcrossHostsTest, CountsOnlyDevicesWithSomethingToCompare) {
  TestCluster cluster;
  cluster.device(1, 3).mutable_address()->mutable_value()->clear_settings();
  EXPECT_EQ(cluster.Check("subnet-across-hosts").summary(),
            "14 of 16 devices on 2 hosts");
}

TEST(CheckSubnetSharedTest, FailsForADeviceInAnotherSubnetWithoutGateway) {
  TestCluster cluster("atlas-a2");
  cluster.SetAddress(1, 2, "10.9.9.9", kMask);
  cluster.device(1, 2).mutable_gateway()->set_value("");
  const RuleResult result = cluster.Check("subnet-shared");
  ASSERT_EQ(result.findings_size(), 1) << Lines(result);
  EXPECT_EQ(Who(result.findings(0)), "server1:2");
  EXPECT_EQ(result.findings(0).observed(),
            "10.9.9.9/24, no gateway in 10.9.9.0/24");
  EXPECT_THAT(result.findings(0).fix(), HasSubstr("-i 2 -ip -s address"));
}

TEST(CheckSubnetSharedTest, DoesNotCountAGatewayOutsideTheSubnet) {
  TestCluster cluster("atlas-a2");
  cluster.SetAddress(1, 2, "10.9.9.9", kMask);
  EXPECT_EQ(cluster.Check("subnet-shared").state(), FAIL);
}

TEST(CheckSubnetSharedTest, PassesWhenGatewaysRouteBothWays) {
  TestCluster cluster("atlas-a2");
  cluster.SetAddress(1, 2, "10.9.9.9", kMask);
  cluster.device(1, 2).mutable_gateway()->set_value("10.9.9.254");
  EXPECT_EQ(cluster.Check("subnet-shared").state(), PASS);
}

TEST(CheckSubnetSharedTest, NamesTheOthersWhenOnlyTheWayBackIsMissing) {
  TestCluster cluster("atlas-a2");
  cluster.SetAddress(1, 2, "10.9.9.9", kMask);
  cluster.device(1, 2).mutable_gateway()->set_value("10.9.9.254");
  cluster.device(0, 5).mutable_gateway()->set_value("");
  const RuleResult result = cluster.Check("subnet-shared");
  ASSERT_EQ(result.findings_size(), 1);
  EXPECT_EQ(Who(result.findings(0)), "server0:5");
  EXPECT_EQ(result.findings(0).fix(),
            "hccn_tool -i 5 -gateway -s gateway 10.0.0.254");
}

TEST(CheckSubnetSharedTest, NeedsNoGatewayInOneSubnet) {
  TestCluster cluster("atlas-a3");
  for (HostFacts& host : cluster.facts) {
    for (DeviceFacts& device : *host.mutable_devices()) {
      device.mutable_gateway()->set_value("");
    }
  }
  EXPECT_EQ(cluster.Check("subnet-shared").state(), PASS);
}

TEST(CheckSubnetSharedTest, IsUnknownWhenTheGatewayThatMattersIs) {
  TestCluster cluster("atlas-a2");
  cluster.SetAddress(1, 2, "10.9.9.9", kMask);
  cluster.device(1, 2).clear_gateway();
  EXPECT_EQ(cluster.Check("subnet-shared").state(), UNKNOWN);
}

TEST(CheckSubnetSharedTest, IsUnknownForADeviceWithoutAnswer) {
  TestCluster cluster("atlas-a2");
  cluster.device(1, 2).clear_address();
  EXPECT_EQ(cluster.Check("subnet-shared").state(), UNKNOWN);
}

}  // namespace
}  // namespace clusterd
