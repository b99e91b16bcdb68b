#include "absl/strings/str_cat.h"
#include "config/words/words.h"
#include "gmock/gmock.h"
#include "tests/support/config/judge_testing.h"

namespace clusterd {
namespace {

using ::testing::HasSubstr, ::testing::Not;

constexpr char kMask[] = "255.255.255.0";

TEST(CheckSubnetPairsTest, NamesThePairAndTheDeviceToChange) {
  TestCluster cluster;
  cluster.SetAddress(0, 7, "192.168.103.2", "255.255.255.128");
  EXPECT_EQ(cluster.Check("subnet-pairs").state(), FAIL);
  cluster.SetAddress(0, 7, "192.168.104.2", kMask);
  EXPECT_EQ(Lines(cluster.Check("subnet-pairs")),
            "FAIL server0:3,7 [device-ip-planned] apart addresses=device 3 has "
            "192.168.103.1/24, device 7 has 192.168.104.2/24, first=3, "
            "second=7, fix=hccn_tool -i 7 -ip -s address 192.168.103.2 netmask "
            "255.255.255.0\n");
  cluster.PlanAddress(0, 7, "192.168.104.2", kMask);
  EXPECT_THAT(cluster.Check("subnet-pairs"),
              Finds(Say("correct-planned-addresses")));
}

TEST(CheckSubnetPairsTest, AppliesToTheSmpModeOnly) {
  EXPECT_EQ(TestCluster("atlas-training", "amp").Check("subnet-pairs").state(),
            SKIPPED);
  const RuleResult a2 = TestCluster("atlas-a2").Check("subnet-pairs");
  EXPECT_EQ(a2.state(), SKIPPED);
  EXPECT_EQ(a2.skip_words().words(), "no-such-rule");
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
  EXPECT_THAT(
      cluster.Check("subnet-distinct"),
      FindsOne("server0:0-1",
               "together addresses=device 0 has 192.168.100.1/24, device 1 has "
               "192.168.100.9/24, first=0, last=3, fix=hccn_tool -i 1 -ip -s "
               "address 192.168.101.1 netmask 255.255.255.0"));
}

TEST(CheckSubnetDistinctTest, SeesSubnetsThatOverlap) {
  TestCluster cluster;
  // The two groups may meet.
  EXPECT_EQ(cluster.Check("subnet-distinct").state(), PASS);
  cluster.SetAddress(0, 6, "192.168.102.2", "255.255.0.0");
  EXPECT_THAT(cluster.Check("subnet-distinct"),
              FindsOne("server0:4-7", testing::_));
}

TEST(CheckSubnetAcrossHostsTest, TakesTheSubnetOfMostHosts) {
  TestCluster cluster("atlas-training", "", 4);
  cluster.SetAddress(2, 3, "192.168.103.5", "255.255.255.128");
  EXPECT_EQ(cluster.Check("subnet-across-hosts").state(), FAIL);
  cluster.SetAddress(2, 3, "192.168.99.9", kMask);
  const std::string another =
      "another address=192.168.99.9/24, subnet=192.168.99.0/24, "
      "right=192.168.103.0/24, others=3 other hosts";
  EXPECT_EQ(
      Lines(cluster.Check("subnet-across-hosts")),
      "FAIL server2:3 [device-ip-planned] " + another +
          ", command=-ip -s address 192.168.103.5 netmask 255.255.255.0\n");
  for (const char* planned : {"192.168.99.9", ""}) {
    cluster.PlanAddress(2, 3, planned, *planned == 0 ? "" : kMask);
    const RuleResult result = cluster.Check("subnet-across-hosts");
    ASSERT_EQ(result.findings_size(), 1);
    EXPECT_EQ(Brief(result.findings(0)), another);
  }
}

TEST(CheckSubnetAcrossHostsTest, OneAgainstOneWithoutAPlanIsNoMajority) {
  const auto tied = [](int host, const char* subnet, const char* other) {
    return absl::StrCat(
        "FAIL server", host, ":3 tied what=subnet, version=", subnet,
        ", hosts=1 host, expects=",
        Say("no-majority", Say("value-of", other, "1 host")), "\n");
  };
  TestCluster cluster;
  cluster.SetAddress(1, 3, "192.168.99.9", kMask);
  for (const int host : {0, 1}) cluster.PlanAddress(host, 3, "", "");
  EXPECT_EQ(Lines(cluster.Check("subnet-across-hosts")),
            tied(0, "192.168.103.0/24", "192.168.99.0/24") +
                tied(1, "192.168.99.0/24", "192.168.103.0/24"));
}

TEST(CheckSubnetAcrossHostsTest, CountsOnlyDevicesWithSomethingToCompare) {
  TestCluster cluster;
  cluster.device(1, 3).mutable_address()->mutable_value()->clear_settings();
  EXPECT_EQ(JudgedCount(cluster.Check("subnet-across-hosts")), 14);
  cluster.Silence(1);
  const RuleResult result = cluster.Check("subnet-across-hosts");
  EXPECT_EQ(result.state(), SKIPPED);
  EXPECT_EQ(result.skip_words().words(), "fewer-than-two-hosts");
}

TEST(CheckSubnetAcrossHostsTest, LetsThePlanDecideBetweenTwoHosts) {
  for (const int wrong : {0, 1}) {
    TestCluster cluster;
    cluster.SetAddress(wrong, 3, "192.168.99.9", kMask);
    EXPECT_THAT(cluster.Check("subnet-across-hosts"),
                FindsOne(absl::StrCat("server", wrong, ":3"), testing::_));
  }
}

TEST(CheckSubnetSharedTest, FailsForADeviceInAnotherSubnetWithoutGateway) {
  TestCluster cluster("atlas-a2");
  // Its gateway is outside its subnet.
  cluster.SetAddress(1, 2, "10.9.9.9", kMask);
  EXPECT_EQ(cluster.Check("subnet-shared").state(), FAIL);
  auto* const gateway = cluster.device(1, 2).mutable_gateway();
  gateway->set_value("");
  EXPECT_THAT(cluster.Check("subnet-shared"),
              FindsOne("server1:2",
                       "outside address=10.9.9.9/24, subnet=10.9.9.0/24, "
                       "common=10.0.0.0/24, command=-ip -s address 10.0.0.11 "
                       "netmask 255.255.255.0"));
  gateway->Clear();
  EXPECT_EQ(cluster.Check("subnet-shared").state(), UNKNOWN);
  gateway->set_value("10.9.9.254");
  EXPECT_EQ(cluster.Check("subnet-shared").state(), PASS);
  // Only the way back is missing.
  EXPECT_THAT(
      cluster.Set(0, 5, "gateway {value: ''}").Check("subnet-shared"),
      FindsOne("server0:5",
               "inside address=10.0.0.6/24, subnet=10.0.0.0/24, "
               "common=10.0.0.0/24, command=-gateway -s gateway 10.0.0.254"));
  cluster.device(1, 2).clear_address();
  EXPECT_EQ(cluster.Check("subnet-shared").state(), UNKNOWN);
}

void ClearGateways(TestCluster& cluster) {
  cluster.SetDevices("gateway {value: ''}");
}

TEST(CheckSubnetSharedTest, NeedsNoGatewayInOneSubnet) {
  TestCluster cluster("atlas-a3");
  ClearGateways(cluster);
  EXPECT_EQ(cluster.Check("subnet-shared").state(), PASS);
}

// A subnet per device id and no gateway, as on servers cabled port to port; all
// neighbours are of kind `peer`.
TestCluster Rails(LldpNeighbour::Peer peer, int servers = 2) {
  TestCluster cluster("atlas-a2", "", servers);
  for (int host = 0; host < servers; ++host) {
    for (int i = 0; i < 8; ++i) {
      const std::string address = absl::StrCat("10.2.", i, ".", host + 1);
      cluster.SetAddress(host, i, address, kMask);
      cluster.PlanAddress(host, i, address, kMask);
      cluster.device(host, i).mutable_gateway()->set_value("");
      cluster.device(host, i).mutable_lldp()->mutable_value()->set_peer(peer);
    }
  }
  return cluster;
}

TEST(CheckSubnetSharedTest, PassesRailsThatAreCabledToNpus) {
  EXPECT_EQ(Rails(LldpNeighbour::NPU).Check("subnet-shared").state(), PASS);
  // Rule lldp reports a port without a neighbour.
  TestCluster cluster = Rails(LldpNeighbour::NPU);
  cluster.device(0, 3).mutable_lldp()->mutable_value()->Clear();
  EXPECT_EQ(cluster.Check("subnet-shared").state(), PASS);
}

TEST(CheckSubnetSharedTest, WarnsOfWholeRailsOverSwitches) {
  for (const auto peer :
       {LldpNeighbour::SWITCH, LldpNeighbour::PEER_UNSPECIFIED}) {
    const RuleResult result = Rails(peer, 4).Check("subnet-shared");
    EXPECT_EQ(result.state(), WARN);
    ASSERT_EQ(result.findings_size(), 1);
    EXPECT_EQ(Who(result.findings(0)), "cluster");
    EXPECT_THAT(Brief(result.findings(0)), HasSubstr("whole-rails subnets=8"));
    EXPECT_FALSE(result.findings(0).fixed_by_plan());
  }
}

TEST(CheckSubnetSharedTest, IsUnknownWhetherRailsAreCabledToNpus) {
  TestCluster cluster = Rails(LldpNeighbour::NPU);
  SetMissing(Missing::TIMED_OUT, "10s", cluster.device(1, 2).mutable_lldp());
  EXPECT_THAT(cluster.Check("subnet-shared"),
              testing::AllOf(IsUnknown(), FindsOne("server1:2", testing::_)));
}

TEST(CheckSubnetSharedTest, NamesTheOneDeviceThatIsOffItsRail) {
  TestCluster cluster = Rails(LldpNeighbour::NPU);
  cluster.SetAddress(1, 2, "10.9.9.9", kMask);
  const RuleResult result = cluster.Check("subnet-shared");
  EXPECT_EQ(result.state(), FAIL);
  ASSERT_EQ(result.findings_size(), 1) << Lines(result);
  EXPECT_EQ(Who(result.findings(0)), "server1:2");
  EXPECT_EQ(
      Brief(result.findings(0)),
      "outside address=10.9.9.9/24, subnet=10.9.9.0/24, common=10.2.2.0/24, "
      "command=-ip -s address 10.2.2.2 netmask 255.255.255.0");
}

TEST(CheckSubnetSharedTest, TakesOneSubnetWithTwoFaultsForNoRails) {
  TestCluster cluster("atlas-a2");
  ClearGateways(cluster);
  cluster.SetAddress(0, 5, "10.9.9.9", kMask);
  cluster.SetAddress(1, 1, "10.9.8.9", kMask);
  cluster.Mute(0, 1, Missing::UNREADABLE, "rubbish");
  const RuleResult result = cluster.Check("subnet-shared");
  for (const Finding& finding : result.findings()) {
    EXPECT_NE(Who(finding), "cluster") << Lines(result);
  }
  EXPECT_THAT(result, Fails("server0:5", "server1:1"));
}

TEST(CheckSubnetSharedTest, TakesADeviceThatIsNotAsPlannedForNoRail) {
  TestCluster cluster("atlas-300t");
  ClearGateways(cluster);
  cluster.SetAddress(1, 1, "10.9.8.9", kMask);
  cluster.Silence(0);
  EXPECT_THAT(cluster.Check("subnet-shared"),
              testing::AllOf(Fails(), FindsOne("server1:4", testing::_)));
}

TEST(CheckSubnetSharedTest, PassesRailsWithGateways) {
  TestCluster cluster = Rails(LldpNeighbour::SWITCH);
  cluster.ForEachDevice([](DeviceFacts& device) {
    device.mutable_gateway()->set_value(
        absl::StrCat("10.2.", device.id(), ".254"));
  });
  EXPECT_EQ(cluster.Check("subnet-shared").state(), PASS);
  // Then the one without a gateway is wrong, and rails are not mentioned.
  EXPECT_THAT(cluster.Set(1, 3, "gateway {value: ''}").Check("subnet-shared"),
              FindsOne("server1:3", testing::_));
}

// Each server with a subnet of its own.
TestCluster PerServer(const char* product, const char* mode) {
  TestCluster cluster(product, mode);
  for (int host = 0; host < 2; ++host) {
    for (int i = 0; i < cluster.facts[host].devices_size(); ++i) {
      cluster.SetAddress(host, i, absl::StrCat("10.3.", host, ".", i + 1),
                         kMask);
      cluster.device(host, i).mutable_gateway()->set_value("");
    }
  }
  return cluster;
}

TEST(CheckSubnetSharedTest, FailsForServersThatNothingRoutesBetween) {
  for (const auto& [product, mode] :
       {std::pair("atlas-training", "amp"), std::pair("atlas-300t", ""),
        std::pair("ascend-950", ""), std::pair("atlas-a2-box16", "")}) {
    EXPECT_EQ(TestCluster(product, mode).Check("subnet-shared").state(), PASS)
        << product;
    TestCluster cluster = PerServer(product, mode);
    EXPECT_EQ(cluster.Check("subnet-shared").state(), FAIL) << product;
    for (int host = 0; host < 2; ++host) {
      for (int i = 0; i < cluster.facts[host].devices_size(); ++i) {
        cluster.device(host, i).mutable_gateway()->set_value(
            absl::StrCat("10.3.", host, ".254"));
      }
    }
    EXPECT_EQ(cluster.Check("subnet-shared").state(), PASS) << product;
  }
  EXPECT_EQ(TestCluster("atlas-a3-superpod").StateOf("subnet-shared"), SKIPPED);
}

TEST(CheckSubnetSharedTest, OneServerAgainstOneIsNoMajority) {
  const std::string lines =
      Lines(PerServer("atlas-a2-box16", "").Check("subnet-shared"));
  EXPECT_THAT(lines, HasSubstr("FAIL server0:"));
  EXPECT_THAT(lines, HasSubstr("FAIL server1:"));
  EXPECT_THAT(lines, Not(HasSubstr(" outside address=")));
}

TEST(CheckSubnetSharedTest, CountsTheOneGatewayThatFourDevicesKeep) {
  TestCluster cluster = PerServer("atlas-training", "amp");
  for (int host = 0; host < 2; ++host) {
    for (const int keeper : {1, 6}) {
      const std::string gateway = absl::StrCat("10.3.", host, ".254");
      cluster.device(host, keeper).mutable_gateway()->set_value(gateway);
      cluster.spec.mutable_servers(host)->mutable_devices(keeper)->set_gateway(
          gateway);
    }
  }
  const RuleResult result = cluster.Check("subnet-shared");
  EXPECT_EQ(result.state(), PASS) << Lines(result);
}

TEST(CheckSubnetSharedTest, NeedsNothingWhereAllServersShareASubnet) {
  TestCluster cluster = PerServer("atlas-training", "amp");
  for (int i = 0; i < 8; ++i) {
    cluster.SetAddress(1, i, absl::StrCat("10.3.0.", 101 + i), kMask);
  }
  EXPECT_EQ(cluster.Check("subnet-shared").state(), PASS);
}

TEST(CheckSubnetSuperpodTest, WantsAVirtualNicOfItsOwnForEveryDie) {
  TestCluster cluster("atlas-a3-superpod");
  EXPECT_EQ(cluster.Check("subnet-superpod").state(), PASS);
  const auto vnic = [&cluster](int index) {
    return cluster.device(0, index).mutable_vnic()->mutable_value();
  };
  vnic(1)->set_up(false);
  vnic(5)->mutable_setting()->set_address("192.0.2.5");  // Device 4's.
  vnic(8)->mutable_setting()->set_address("192.168.2.199");
  vnic(9)->mutable_setting()->set_address("10.1.1.1");
  const std::string lines = Lines(cluster.Check("subnet-superpod"));
  EXPECT_THAT(lines, HasSubstr("FAIL server0:1 down"));
  EXPECT_THAT(lines, HasSubstr("FAIL server0:9 outside address=10.1.1.1"));
  EXPECT_THAT(
      lines,
      HasSubstr("FAIL server0:4-5 twice address=192.0.2.5, devices=4-5"));
  EXPECT_THAT(lines, Not(HasSubstr("192.168.2.199")));
}

// Servers whose identity was never set: pod id 0 or SDID 0 is valid, not both.
TEST(CheckSubnetSuperpodTest, VirtualNicsOfTwoHostsOfOnePodDiffer) {
  TestCluster cluster("atlas-a3-superpod");
  for (int i = 0; i < 16; ++i) {
    *cluster.device(1, i).mutable_vnic() = cluster.device(0, i).vnic();
  }
  const RuleResult result = cluster.Check("subnet-superpod");
  ASSERT_EQ(result.findings_size(), 1) << Lines(result);
  EXPECT_EQ(result.state(), FAIL);
  EXPECT_EQ(Who(result.findings(0)), "server0:0-15 server1:0-15");
  EXPECT_THAT(
      Brief(result.findings(0)),
      HasSubstr(
          "twice-in-pod addresses=192.0.2.1, 192.0.2.2, 192.0.2.3, 192.0.2.4, "
          "192.0.2.5, 192.0.2.6, 192.0.2.7, 192.0.2.8 and 8 more"));
  // Two pods may have the same.
  for (int i = 0; i < 16; ++i) {
    cluster.Set(1, i, "super_pod {value {super_pod_id: 1}}");
  }
  EXPECT_EQ(cluster.Check("subnet-superpod").state(), PASS);
  for (int i = 0; i < 16; ++i) {
    cluster.Set(1, i, "super_pod {missing {reason: NOT_SUPPORTED}}");
  }
  EXPECT_EQ(cluster.Check("subnet-superpod").state(), UNKNOWN);
}

TEST(CheckSubnetSuperpodTest, FailsForAnSdidThatIsThereTwiceInAPod) {
  TestCluster cluster("atlas-a3-superpod");
  const auto place = [&cluster](int host, int index) {
    return cluster.device(host, index).mutable_super_pod()->mutable_value();
  };
  place(1, 3)->set_sdid(place(0, 5)->sdid());
  EXPECT_EQ(Lines(cluster.Check("subnet-superpod")),
            absl::StrCat("FAIL server0:5 server1:3 sdid-twice sdids=",
                         place(0, 5)->sdid(), ", pod=0\n"));
  // Each pod has its own.
  for (int i = 0; i < 16; ++i) place(1, i)->set_super_pod_id(1);
  EXPECT_EQ(cluster.Check("subnet-superpod").state(), PASS);
}

TEST(CheckSubnetSuperpodTest, SaysOnceThatTwoServersHaveOneIndex) {
  TestCluster cluster("atlas-a3-superpod");
  for (int i = 0; i < 16; ++i) {
    *cluster.device(1, i).mutable_super_pod() =
        cluster.device(0, i).super_pod();
  }
  EXPECT_THAT(
      cluster.Check("subnet-superpod"),
      FindsOne("server0:0-15 server1:0-15",
               HasSubstr("sdid-twice sdids=0, 65537, 262146, 327683, 524292, "
                         "589829, 786438, 851975 and 8 more, pod=0")));
}

TEST(CheckSubnetSuperpodTest, WantsOnePlaceOfTheChipsOfAServer) {
  TestCluster cluster("atlas-a3-superpod");
  const auto place = [&cluster](int index) {
    return cluster.device(0, index).mutable_super_pod()->mutable_value();
  };
  place(2)->set_server_index(9);
  place(4)->set_super_pod_id(7);
  place(6)->set_super_pod_id(4294967295);
  place(8)->set_size(96);
  const RuleResult result = cluster.Check("subnet-superpod");
  const std::string lines = Lines(result);
  EXPECT_EQ(result.findings_size(), 4) << lines;
  for (const char* line :
       {"FAIL server0:2 other-index index=9, right=0, others=14 devices",
        "FAIL server0:4 other-pod id=7, right=0, others=14 devices",
        "FAIL server0:6 of-no-pod id=4294967295",
        "WARN server0:8 other-size size=96, right=384, others=29 devices"}) {
    EXPECT_THAT(lines, HasSubstr(line));
  }
}

TEST(CheckSubnetSuperpodTest, AsManyChipsAgainstAsManyAreNoMajority) {
  TestCluster cluster("atlas-a3-superpod", "", 1);
  for (int i = 0; i < 8; ++i) {
    cluster.Set(0, i, "super_pod {value {server_index: 9}}");
  }
  const RuleResult result = cluster.Check("subnet-superpod");
  ASSERT_EQ(result.findings_size(), 2) << Lines(result);
  EXPECT_EQ(Who(result.findings(0)), "server0:0-7");
  EXPECT_EQ(Brief(result.findings(0)),
            "other-index index=9, right=9, others=8 devices, expects=" +
                Say("no-majority", "0 (8 devices)"));
  EXPECT_EQ(Who(result.findings(1)), "server0:8-15");
}

TEST(CheckSubnetSuperpodTest, IsSkippedElsewhereAndWithoutTheQueries) {
  EXPECT_EQ(TestCluster("atlas-a3").Check("subnet-superpod").state(), SKIPPED);
  TestCluster cluster("atlas-a3-superpod");
  cluster.ForEachDevice([](DeviceFacts& device) {
    SetMissing(Missing::NOT_SUPPORTED, "does not support querying spod-info",
               device.mutable_super_pod());
  });
  const RuleResult result = cluster.Check("subnet-superpod");
  EXPECT_EQ(result.state(), PASS);
  EXPECT_EQ(JudgedCount(result), 32);
  EXPECT_THAT(result.summary(),
              HasSubstr(Say("not-reported-by", "place in the super pod",
                            Counted(32, "device"), "not supported: does ")));
  cluster.SetDevices("vnic {missing {reason: NOT_SUPPORTED detail: 'cmd.'}}");
  const RuleResult none = cluster.Check("subnet-superpod");
  EXPECT_EQ(none.state(), SKIPPED);
  EXPECT_THAT(none.skip_reason(), HasSubstr(Say("not-reported", "virtual NIC",
                                                "not supported: cmd.")));
}

TEST(CheckSubnetSuperpodTest, APlaceThatNpuSmiFailedToTellIsUnknown) {
  TestCluster cluster("atlas-a3-superpod");
  cluster.Set(1, 3, "super_pod {missing {reason: TIMED_OUT detail: '10s'}}");
  EXPECT_THAT(cluster.Check("subnet-superpod"),
              Finds("UNKNOWN server1:3 no-value what=place in the super pod, "
                    "reason=timed out: 10s, how-to-learn=" +
                    Say("learn-timed-out")));
}

}  // namespace
}  // namespace clusterd
