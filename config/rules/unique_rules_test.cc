#include "absl/strings/str_cat.h"
#include "config/words/words.h"
#include "gmock/gmock.h"
#include "tests/support/config/judge_testing.h"

namespace clusterd {
namespace {

using ::testing::HasSubstr;

constexpr char kMask[] = "255.255.255.0";

// The finding's brief where another address must be planned.
std::string PlanAnother(const char* address, const char* owners) {
  return absl::StrCat("shared address=", address, ", owners=", owners,
                      ", fix=", Say("plan-other-addresses"));
}

TEST(CheckIpUniqueTest, NamesEveryOwnerAndTheOneToChange) {
  TestCluster cluster;
  // Devices may share a gateway.
  EXPECT_EQ(cluster.Check("ip-unique").state(), PASS);
  cluster.SetAddress(1, 5, "192.168.103.1", kMask);
  EXPECT_EQ(Lines(cluster.Check("ip-unique")),
            "FAIL server0:3 server1:5 [device-ip-planned] shared "
            "address=192.168.103.1, owners=server0 device 3, server1 device 5, "
            "fix=server1: hccn_tool -i 5 -ip -s address 192.168.101.4 netmask "
            "255.255.255.0\n");
  TestCluster one;
  one.SetAddress(0, 7, "192.168.103.1", kMask);
  EXPECT_THAT(one.Check("ip-unique"), Finds("server0:3,7"));
}

// An unplanned device still answers for the address.
TEST(CheckIpUniqueTest, CountsAnUnplannedDeviceWhereAPlannedOneHasItsAddress) {
  TestCluster cluster;
  cluster.spec.mutable_servers(1)->mutable_devices()->DeleteSubrange(4, 4);
  cluster.SetAddress(1, 5, "192.168.103.77", kMask);
  cluster.SetAddress(1, 6, "192.168.103.77", kMask);
  EXPECT_EQ(cluster.Check("ip-unique").state(), PASS);
  cluster.SetAddress(1, 5, "192.168.103.1", kMask);
  EXPECT_THAT(cluster.Check("ip-unique"),
              Finds("FAIL server0:3 " +
                    PlanAnother("192.168.103.1",
                                "server0 device 3, server1 device 5 (not "
                                "planned)")));
}

TEST(CheckIpUniqueTest, CountsGatewaysAndHosts) {
  TestCluster cluster;
  EXPECT_THAT(
      cluster.Set(0, 3, "gateway {value: '192.168.103.3'}").Check("ip-unique"),
      Finds(PlanAnother("192.168.103.3",
                        "server1 device 3, server0 device 3 as gateway")));
  TestCluster hosts;
  hosts.spec.mutable_servers(1)->set_address("172.16.0.1");
  EXPECT_THAT(
      hosts.Check("ip-unique"),
      Finds("FAIL cluster " +
            PlanAnother("172.16.0.1", "server0 itself, server1 itself")));
  TestCluster device;
  device.SetAddress(0, 3, "172.16.0.2", kMask);
  EXPECT_THAT(device.Check("ip-unique"),
              Finds("shared address=172.16.0.2, owners=server0 device 3, "
                    "server1 itself, fix=server0: hccn_tool -i 3 -ip -s "
                    "address 192.168.103.1 netmask 255.255.255.0"));
  device.Silence(1);
  EXPECT_EQ(device.Check("ip-unique").state(), FAIL);
}

TEST(CheckIpUniqueTest, ListsAFewOwnersOfMany) {
  TestCluster cluster("atlas-a2", "", 8);
  for (int host = 0; host < 8; ++host) {
    for (int device = 0; device < 8; ++device) {
      cluster.SetAddress(host, device, "10.0.0.1", kMask);
    }
  }
  const RuleResult result = cluster.Check("ip-unique");
  ASSERT_EQ(result.findings_size(), 1);
  EXPECT_THAT(Brief(result.findings(0)),
              HasSubstr("server0 device 7 and 56 more, fix="));
  EXPECT_EQ(result.findings(0).subjects_size(), 8);
  EXPECT_LT(result.findings(0).fix().size(), 1000u);
}

TEST(CheckIpUniqueTest, BlamesThePlanWhenDevicesFollowIt) {
  TestCluster cluster;
  cluster.SetAddress(1, 3, "192.168.103.1", kMask);
  cluster.PlanAddress(1, 3, "192.168.103.1", kMask);
  EXPECT_THAT(cluster.Check("ip-unique"),
              Finds(PlanAnother("192.168.103.1",
                                "server0 device 3, server1 device 3")));
}

TEST(CheckIpUniqueTest, IsUnknownWithoutAnAddressOrAGateway) {
  TestCluster cluster;
  cluster.device(0, 3).clear_address();
  cluster.device(1, 4).clear_gateway();
  const RuleResult result = cluster.Check("ip-unique");
  EXPECT_EQ(result.state(), UNKNOWN);
  EXPECT_EQ(result.findings_size(), 2);
}

TEST(CheckIpHostPartTest, FailsOnTheTrainingSeriesForEqualEndings) {
  TestCluster cluster;
  cluster.SetAddress(0, 3, "10.1.0.5", "255.255.0.0");
  // Equal addresses are left to ip-unique.
  cluster.SetAddress(1, 3, "10.1.0.5", "255.255.0.0");
  EXPECT_EQ(cluster.Check("ip-host-part").state(), PASS);
  cluster.SetAddress(1, 3, "10.1.1.6", "255.255.0.0");
  EXPECT_EQ(cluster.Check("ip-host-part").state(), PASS);
  cluster.SetAddress(1, 3, "10.1.1.5", "255.255.0.0");
  EXPECT_THAT(
      cluster.Check("ip-host-part"),
      Finds("FAIL server0:3 server1:3 [device-ip-planned] alike "
            "addresses=10.1.0.5, 10.1.1.5, subnet=10.1.0.0/16, ending=5"));
  cluster.device(0, 3).clear_address();
  EXPECT_EQ(cluster.Check("ip-host-part").state(), UNKNOWN);
}

TEST(CheckIpHostPartTest, IsSkippedWhereTheProductDoesNotAskForIt) {
  TestCluster cluster("atlas-a2", "", 64);
  for (int host = 0; host < 64; ++host) {
    for (int i = 0; i < 8; ++i) {
      cluster.SetAddress(host, i, absl::StrCat("10.1.", i, ".", host + 1),
                         "255.255.0.0");
    }
  }
  const RuleResult result = cluster.Check("ip-host-part");
  EXPECT_EQ(result.state(), SKIPPED);
  EXPECT_EQ(result.skip_words().words(), "no-such-rule");
}

TEST(CheckIpHostPartTest, JobTakesPartOfASubnetThatCannotHoldItsDevicesSo) {
  TestCluster cluster;
  cluster.SetAddress(0, 3, "10.1.0.5", "255.255.0.0");
  cluster.SetAddress(1, 3, "10.1.1.5", "255.255.0.0");
  cluster.spec.set_cluster_servers(254);  // One device of each.
  EXPECT_EQ(cluster.Check("ip-host-part").state(), FAIL);
  cluster.spec.set_cluster_servers(255);
  const RuleResult result = cluster.Check("ip-host-part");
  EXPECT_EQ(result.state(), PASS) << Lines(result);
  EXPECT_THAT(result.summary(),
              HasSubstr(Say("too-many-to-differ", 254, "10.1.0.0/16")));
}

TEST(CheckIpHostPartTest, JobTakesOneDeviceOfAPairThatSharesASubnet) {
  TestCluster cluster;
  for (int server = 0; server < 2; ++server) {
    cluster.spec.mutable_servers(server)->mutable_devices()->DeleteSubrange(4,
                                                                            4);
    cluster.SetAddress(server, 3, absl::StrCat("10.1.", server, ".5"),
                       "255.255.0.0");
    cluster.SetAddress(server, 7, absl::StrCat("10.1.", server, ".6"),
                       "255.255.0.0");
  }
  cluster.spec.set_cluster_servers(127);
  EXPECT_EQ(cluster.Check("ip-host-part").state(), FAIL);
  cluster.spec.set_cluster_servers(128);
  EXPECT_EQ(cluster.Check("ip-host-part").state(), PASS);
}

TEST(CheckIpHostPartTest, LeavesASubnetThatCannotHoldItsDevicesSo) {
  TestCluster cluster("atlas-training", "smp", 128);
  const RuleResult all = cluster.Check("ip-host-part");
  EXPECT_EQ(all.state(), SKIPPED);
  EXPECT_EQ(all.findings_size(), 0);
  EXPECT_EQ(all.skip_words().words(), "too-many-to-differ");
  // The other devices are judged, too.
  cluster.SetAddress(0, 3, "10.201.0.5", "255.255.0.0");
  cluster.SetAddress(1, 3, "10.201.1.6", "255.255.0.0");
  const RuleResult some = cluster.Check("ip-host-part");
  EXPECT_EQ(some.state(), PASS) << Lines(some);
  EXPECT_EQ(some.notes(0).words(), "too-many-to-differ");
  cluster.SetAddress(1, 3, "10.201.1.5", "255.255.0.0");
  EXPECT_EQ(cluster.Check("ip-host-part").state(), FAIL);
}

}  // namespace
}  // namespace clusterd
