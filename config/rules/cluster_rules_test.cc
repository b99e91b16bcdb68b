#include <utility>

#include "absl/strings/str_cat.h"
#include "config/words/words.h"
#include "gmock/gmock.h"
#include "tests/support/config/judge_testing.h"

namespace clusterd {
namespace {

using ::testing::HasSubstr;

TEST(CheckClusterSizeTest, FailsAboveTheProductsBound) {
  EXPECT_EQ(SizedCluster("atlas-training", 512).StateOf("cluster-size"), PASS);
  EXPECT_EQ(SizedCluster("atlas-a2", 1152).Check("cluster-size").state(), PASS);
  EXPECT_EQ(SizedCluster("atlas-a3", 1153).Check("cluster-size").state(), FAIL);
  EXPECT_EQ(Lines(SizedCluster("atlas-training", 513).Check("cluster-size")),
            "FAIL cluster too-many servers=513 servers, most=512, "
            "product=Atlas training series (SMP), parts=2\n");
}

TEST(CheckClusterSizeTest, JudgesNoInventoryAsIfItWereOneJob) {
  TestCluster cluster = SizedCluster("atlas-a3", 1153);
  cluster.spec.set_one_job(false);
  for (const char* rule : {"cluster-size", "cluster-size-power"}) {
    const RuleResult result = cluster.Check(rule);
    EXPECT_EQ(result.state(), SKIPPED) << rule;
    EXPECT_EQ(result.skip_words().words(), "not-one-job") << rule;
    EXPECT_EQ(result.findings_size(), 0) << rule;
  }
}

TEST(CheckClusterSizeTest, IsSkippedWithoutABoundOrServers) {
  const RuleResult result = SizedCluster("atlas-300t", 3).Check("cluster-size");
  EXPECT_EQ(result.state(), SKIPPED);
  EXPECT_EQ(result.skip_words().words(), "no-bound-known");
  TestCluster none;
  none.spec.clear_servers();
  EXPECT_EQ(none.Check("cluster-size-power").state(), SKIPPED);
  EXPECT_EQ(none.Check("cluster-size").state(), SKIPPED);
}

TEST(CheckClusterSizePowerTest, WarnsUnlessItIsAPowerOfTwo) {
  for (const int servers : {1, 2, 64, 1024}) {
    EXPECT_EQ(SizedCluster("atlas-a2", servers).StateOf("cluster-size-power"),
              PASS);
  }
  EXPECT_EQ(
      Lines(SizedCluster("atlas-a2", 1152).Check("cluster-size-power")),
      "WARN cluster no-power servers=1152 servers, below=1024, above=2048\n");
}

LldpNeighbour& Neighbour(TestCluster& cluster, int host, int index) {
  return *cluster.device(host, index).mutable_lldp()->mutable_value();
}

void Reach(const std::string& name, LldpNeighbour* neighbour) {
  neighbour->set_system_name(name);
  neighbour->set_chassis_id(absl::StrCat("chassis of ", name));
}

// Device i of every 4 servers reaches leaf i of their pod.
TestCluster Pods(int servers) {
  TestCluster cluster("atlas-a2", "", servers);
  for (int host = 0; host < servers; ++host) {
    for (int i = 0; i < 8; ++i) {
      Reach(absl::StrCat("leaf-", host / 4, "-", i),
            &Neighbour(cluster, host, i));
    }
  }
  return cluster;
}

void Exchange(int host, int a, int b, TestCluster* cluster) {
  std::swap(Neighbour(*cluster, host, a), Neighbour(*cluster, host, b));
}

TEST(CheckLldpRailTest, NamesSwappedCables) {
  TestCluster cluster = Pods(12);
  EXPECT_EQ(cluster.Check("lldp-rail").state(), PASS);
  Exchange(5, 2, 3, &cluster);
  EXPECT_EQ(Lines(cluster.Check("lldp-rail")),
            "WARN server5:2 exchanged switch=leaf-1-3, right=leaf-1-2, "
            "device=2, others=3 other hosts, other=3\nWARN server5:3 exchanged "
            "switch=leaf-1-2, right=leaf-1-3, device=3, others=3 other hosts, "
            "other=2\n");
  // Two pairs of one host, and three in a ring.
  Exchange(5, 6, 7, &cluster);
  EXPECT_EQ(cluster.Check("lldp-rail").findings_size(), 4);
  Exchange(5, 6, 2, &cluster);
  EXPECT_EQ(cluster.Check("lldp-rail").state(), WARN);
}

TEST(CheckLldpRailTest, SeesASwapOfTwoServers) {
  TestCluster cluster = Pods(2);
  EXPECT_EQ(cluster.Check("lldp-rail").state(), PASS);
  Exchange(1, 0, 4, &cluster);
  const RuleResult result = cluster.Check("lldp-rail");
  EXPECT_EQ(result.state(), WARN);
  // On either server: both are named.
  EXPECT_EQ(result.findings_size(), 4);
  for (const char* line :
       {"WARN server0:0 exchanged-somewhere switch=leaf-0-0, right=leaf-0-4, "
        "device=0, others=1 other host, other=4",
        "WARN server0:4 exchanged-somewhere switch=leaf-0-4, right=leaf-0-0, "
        "device=4, others=1 other host, other=0",
        "WARN server1:0 exchanged-somewhere switch=leaf-0-4, right=leaf-0-0, "
        "device=0, others=1 other host, other=4",
        "WARN server1:4 exchanged-somewhere switch=leaf-0-0, right=leaf-0-4, "
        "device=4, others=1 other host, other=0"}) {
    EXPECT_THAT(result, Finds(line));
  }
}

TEST(CheckLldpRailTest, NamesTheOddOneOut) {
  TestCluster cluster = Pods(8);
  Reach("leaf-9", &Neighbour(cluster, 6, 5));
  EXPECT_THAT(cluster.Check("lldp-rail"),
              Finds("WARN server6:5 odd switch=leaf-9, right=leaf-1-5, "
                    "device=5, others=3 other hosts"));
  // A switch of another rail.
  Reach("leaf-1-2", &Neighbour(cluster, 6, 5));
  EXPECT_EQ(cluster.Check("lldp-rail").findings_size(), 1);
}

TEST(CheckLldpRailTest, AllowsManyLeafsPerRail) {
  EXPECT_EQ(Pods(1152).Check("lldp-rail").state(), PASS);
  // Servers go where a leaf of the rail has a free port.
  TestCluster spread("atlas-a2", "", 64);
  uint32_t random = 7;
  for (int host = 0; host < 64; ++host) {
    for (int i = 0; i < 8; ++i) {
      random = random * 1664525 + 1013904223;
      Reach(absl::StrCat("leaf-", random >> 30, "-", i),
            &Neighbour(spread, host, i));
    }
  }
  const RuleResult result = spread.Check("lldp-rail");
  EXPECT_EQ(result.state(), PASS) << Lines(result);
}

// Each port has two cables, and LLDP reports either switch.
TEST(CheckLldpRailTest, AllowsDualHomedPortsAndSwitchesOfARack) {
  for (const int servers : {2, 3, 4, 8, 64}) {
    TestCluster homed("atlas-a2", "", servers);
    TestCluster rack("atlas-a2", "", servers);
    uint32_t random = servers;
    for (int host = 0; host < servers; ++host) {
      for (int i = 0; i < 8; ++i) {
        random = random * 1664525 + 1013904223;
        Reach(absl::StrCat("leaf-", random >> 31), &Neighbour(homed, host, i));
        Reach(absl::StrCat("rack-", host / 3), &Neighbour(rack, host, i));
      }
    }
    const RuleResult result = homed.Check("lldp-rail");
    EXPECT_EQ(result.state(), PASS) << servers << Lines(result);
    EXPECT_EQ(rack.Check("lldp-rail").state(), PASS) << servers;
  }
}

TEST(CheckLldpRailTest, RecognisesCablesFromNpuToNpu) {
  TestCluster cluster("atlas-a2");
  for (int host = 0; host < 2; ++host) {
    for (int i = 0; i < 8; ++i) {
      Reach(absl::StrCat(host, i), &Neighbour(cluster, host, i));
      Neighbour(cluster, host, i).set_peer(LldpNeighbour::NPU);
    }
  }
  const RuleResult result = cluster.Check("lldp-rail");
  EXPECT_EQ(result.state(), SKIPPED);
  EXPECT_EQ(result.skip_reason(), Say("cabled-to-npus", Counted(16, "device")));
}

TEST(CheckLldpRailTest, OnePortOnAnotherNpuAmongLeavesIsNamed) {
  TestCluster cluster = Pods(4);
  Neighbour(cluster, 1, 3).set_peer(LldpNeighbour::NPU);
  EXPECT_EQ(JudgedCount(cluster.Check("lldp-rail")), 32);
  EXPECT_EQ(Lines(cluster.Check("lldp-rail")),
            "WARN server1:3 to-npu others=31 other ports\n");
}

TEST(CheckLldpRailTest, OnePortOnALeafAmongNpusIsNamed) {
  TestCluster cluster = Pods(4);
  for (int host = 0; host < 4; ++host) {
    for (int i = 0; i < 8; ++i) {
      if (host == 1 && i == 3) continue;
      Neighbour(cluster, host, i).set_peer(LldpNeighbour::NPU);
    }
  }
  EXPECT_EQ(Lines(cluster.Check("lldp-rail")),
            "WARN server1:3 to-switch others=31 other ports\n");
  EXPECT_THAT(cluster.Check("lldp-rail").summary(),
              HasSubstr(Say("cabled-to-npus", Counted(31, "device"))));
  // The port is planned like that.
  cluster.Plan(1, 3, "switch_name: 'leaf-0-3'");
  EXPECT_EQ(cluster.Check("lldp-rail").state(), PASS);
}

TEST(CheckLldpRailTest, FailsAgainstAPlan) {
  TestCluster cluster = Pods(2);
  for (ServerSpec& server : *cluster.spec.mutable_servers()) {
    for (DeviceSpec& device : *server.mutable_devices()) {
      device.set_switch_name(absl::StrCat("LEAF-0-", device.id()));
    }
  }
  cluster.Plan(0, 0, "switch_name: 'chassis of leaf-0-0'");
  EXPECT_EQ(cluster.Check("lldp-rail").state(), PASS);
  Exchange(0, 2, 3, &cluster);
  Reach("leaf-9", &Neighbour(cluster, 1, 5));
  Neighbour(cluster, 1, 6).set_peer(LldpNeighbour::NPU);
  Neighbour(cluster, 1, 6).clear_system_name();
  Neighbour(cluster, 1, 7).clear_system_name();
  EXPECT_EQ(Lines(cluster.Check("lldp-rail")),
            "FAIL server0:2 exchanged-against-plan switch=leaf-0-3, "
            "planned=LEAF-0-2, other=3\nFAIL server0:3 exchanged-against-plan "
            "switch=leaf-0-2, planned=LEAF-0-3, other=2\nFAIL server1:5 "
            "unlike-plan switch=leaf-9, planned=LEAF-0-5\nFAIL server1:6 "
            "unlike-plan switch=chassis of leaf-0-6, planned=LEAF-0-6\nUNKNOWN "
            "server1:7 no-name switch=chassis of leaf-0-7, planned=LEAF-0-7\n");
}

TEST(CheckLldpRailTest, LeavesSilenceToRuleLldp) {
  TestCluster cluster = Pods(4);
  Neighbour(cluster, 0, 3).Clear();
  EXPECT_EQ(cluster.Check("lldp-rail").state(), PASS);
  Neighbour(cluster, 1, 3).clear_chassis_id();
  Neighbour(cluster, 1, 3).clear_system_name();
  const RuleResult result = cluster.Check("lldp-rail");
  EXPECT_EQ(result.state(), PASS);
  EXPECT_EQ(JudgedCount(result), 30);
  EXPECT_THAT(result.summary(),
              HasSubstr(Say("nameless-neighbours", Counted(1, "neighbour"))));
  cluster.Silence(1);
  cluster.Silence(2);
  cluster.Silence(3);
  EXPECT_EQ(cluster.Check("lldp-rail").skip_reason(),
            Say("one-host-and-no-switch"));
}

TEST(CheckHostIdentityTest, IsUnknownForAHostThatNeverAttached) {
  TestCluster cluster;
  cluster.Silence(1);
  const RuleResult result = cluster.Check("host-identity");
  EXPECT_THAT(result,
              Finds("UNKNOWN server1 silent why=no answer: never attached"));
  EXPECT_EQ(JudgedCount(result), 1);
  cluster.Silence(0);
  EXPECT_THAT(cluster.Check("host-identity"),
              FindsOne("server0 server1", testing::_));
  cluster.facts[1] = MakeSilentHost("server1", Missing::TIMED_OUT,
                                    "no facts in 60s (deadlines.run)");
  EXPECT_THAT(cluster.Check("host-identity"),
              Finds("slow why=timed out: no facts in 60s (deadlines.run)"));
}

TEST(CheckHostIdentityTest, NamesConflictsAndCertificatesThatNobodyRenews) {
  TestCluster cluster;
  cluster.facts[1].set_certificate_notice("2026-01-01 00:00 UTC");
  EXPECT_THAT(cluster.Check("host-identity"),
              Warns("WARN server1 certificate-ends end=2026-01-01 00:00 UTC"));
  cluster.facts[1].set_conflict("two machines: 10.0.0.7 and 10.0.0.8");
  EXPECT_THAT(cluster.Check("host-identity"),
              Finds("FAIL server1 two-machines conflict=two "
                    "machines: 10.0.0.7 and 10.0.0.8"));
}

}  // namespace
}  // namespace clusterd
