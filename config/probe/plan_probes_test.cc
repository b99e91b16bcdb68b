#include "config/probe/plan_probes.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "gtest/gtest.h"
#include "tests/sim/probe/faulty_network.h"

namespace clusterd {
namespace {

using testing::IsEmpty;
using testing::SizeIs;

std::set<WhyNotProbed> Reasons(const ProbePlan& plan) {
  std::set<WhyNotProbed> reasons;
  for (const ProbeSkip& skip : plan.skipped) reasons.insert(skip.why);
  return reasons;
}

// Two super pods of four hosts with two dies of one card each.
ProbeFabric TwoPods() {
  ProbeFabric fabric = MakeFabric({8, 2, 8});
  for (ProbePort& port : fabric.ports) {
    port.super_pod = port.host / 4;
    port.card = 0;
    port.vnic = Ipv4Address(0xc0000000u + port.host * 2 + port.device);
  }
  return fabric;
}

TEST(PlanDeviceProbesTest, EachPortIsInFourProbesUnderItsLeaf) {
  const ProbePlan plan = PlanDeviceProbes(MakeFabric({8, 1, 8}));
  std::map<int, int> probes;
  std::set<std::pair<int, int>> pairs;
  for (const ProbePair& pair : plan.pairs) {
    ++probes[pair.from];
    ++probes[pair.to];
    pairs.insert({pair.from, pair.to});
  }
  for (int port = 0; port < 8; ++port) EXPECT_EQ(probes[port], 4) << port;
  EXPECT_EQ(pairs.size(), plan.pairs.size());
  EXPECT_EQ(plan.cost.longest_chain, 2);
}

TEST(PlanDeviceProbesTest, CostsLittleAt1152Servers) {
  const ProbePlan plan = PlanDeviceProbes(MakeFabric({1152, 8, 32}));
  EXPECT_EQ(plan.cost.probes, 23040);
  EXPECT_EQ(plan.cost.ports, 9216);
  EXPECT_EQ(plan.cost.hosts, 1152);
  EXPECT_LE(plan.cost.Average(), 4);
  EXPECT_LE(plan.cost.longest_chain, 32);
  EXPECT_TRUE(absl::StartsWith(CostText(plan), "23040 probes, 2.5 a port"));
}

TEST(PlanDeviceProbesTest, KeepsTheAverageWhateverTheLeaves) {
  for (int leaf_hosts : {1, 2, 3, 5, 64}) {
    for (int leaf_pairs : {1, 8, 33, 100}) {
      const ProbePlan plan =
          PlanDeviceProbes(MakeFabric({64, 8, leaf_hosts}), {leaf_pairs, 32});
      EXPECT_LE(plan.cost.Average(), 4) << leaf_hosts << " " << leaf_pairs;
      EXPECT_LE(plan.cost.longest_chain, 32);
      EXPECT_THAT(plan.skipped, IsEmpty());
    }
  }
}

TEST(PlanDeviceProbesTest, ProbesOnlyPortsOfOneRailWithEachOther) {
  const ProbeFabric fabric = MakeFabric({12, 4, 4});
  const ProbePlan plan = PlanDeviceProbes(fabric);
  for (const ProbePair& pair : plan.pairs) {
    EXPECT_EQ(fabric.ports[pair.from].rail, fabric.ports[pair.to].rail);
    EXPECT_NE(fabric.ports[pair.from].host, fabric.ports[pair.to].host);
  }
}

TEST(PlanDeviceProbesTest, LeavesOutPortsWithKnownCauses) {
  ProbeFabric fabric = MakeFabric({8, 1, 8});
  fabric.ports[0].excluded = WhyNotProbed::kPortDown;
  fabric.ports[1].excluded = WhyNotProbed::kTlsDiffers;
  fabric.ports[2].excluded = WhyNotProbed::kInUse;
  fabric.ports[3].excluded = WhyNotProbed::kHostSilent;
  fabric.ports[4].address = Ipv4Address();
  const ProbePlan plan = PlanDeviceProbes(fabric);
  for (const ProbePair& pair : plan.pairs) {
    EXPECT_GE(std::min(pair.from, pair.to), 5);
  }
  EXPECT_EQ(
      Reasons(plan),
      (std::set<WhyNotProbed>{WhyNotProbed::kPortDown, WhyNotProbed::kNoAddress,
                              WhyNotProbed::kTlsDiffers, WhyNotProbed::kInUse,
                              WhyNotProbed::kHostSilent}));
  EXPECT_EQ(plan.cost.ports, 3);
}

TEST(PlanDeviceProbesTest, NamesPortsThatAreAlone) {
  const ProbePlan plan = PlanDeviceProbes(MakeFabric({1, 2, 8}));
  EXPECT_THAT(plan.pairs, IsEmpty());
  EXPECT_THAT(plan.skipped, SizeIs(2));
  EXPECT_EQ(Reasons(plan), std::set<WhyNotProbed>{WhyNotProbed::kAlone});
}

TEST(PlanDeviceProbesTest, SaysThatLeavesAreUnknown) {
  ProbeFabric fabric = MakeFabric({8, 2, 8});
  for (ProbePort& port : fabric.ports) port.leaf = kNoIndex;
  const ProbePlan plan = PlanDeviceProbes(fabric);
  EXPECT_EQ(plan.unknown_leaf_ports, 16);
  EXPECT_EQ(plan.cost.probes, 32);
}

TEST(PlanDeviceProbesTest, PingsOverHccsInsideAPodAndOverRoceBetweenPods) {
  const ProbeFabric fabric = TwoPods();
  const ProbePlan plan = PlanDeviceProbes(fabric);
  size_t inside = 0;
  for (const ProbePair& pair : plan.pairs) {
    const ProbePort& from = fabric.ports[pair.from];
    const ProbePort& to = fabric.ports[pair.to];
    const bool is_inside = from.super_pod == to.super_pod;
    EXPECT_EQ(pair.plane, is_inside ? ProbePlane::kHccs : ProbePlane::kRoce);
    EXPECT_NE(from.host, to.host);
    inside += is_inside;
  }
  EXPECT_EQ(inside, 2 * 16);
  EXPECT_EQ(plan.pairs.size() - inside, 2 * 16);
  EXPECT_LE(plan.cost.Average(), 4);
}

TEST(PlanDeviceProbesTest, ProbesNoRoceInsideTheOnlyPod) {
  ProbeFabric fabric = TwoPods();
  for (ProbePort& port : fabric.ports) port.super_pod = 0;
  const auto has_roce = [](const ProbePlan& plan) {
    return absl::c_any_of(plan.pairs, [](const ProbePair& pair) {
      return pair.plane == ProbePlane::kRoce;
    });
  };
  const ProbePlan plan = PlanDeviceProbes(fabric);
  EXPECT_FALSE(has_roce(plan));
  EXPECT_EQ(Reasons(plan),
            std::set<WhyNotProbed>{WhyNotProbed::kInsideSuperPod});
  fabric.roce_inside_super_pods = true;
  EXPECT_TRUE(has_roce(PlanDeviceProbes(fabric)));
}

TEST(PlanDeviceProbesTest, ProbesHccsThoughTheRocePortIsDown) {
  ProbeFabric fabric = TwoPods();
  for (ProbePort& port : fabric.ports) {
    port.excluded = WhyNotProbed::kPortDown;
  }
  EXPECT_EQ(PlanDeviceProbes(fabric).cost.probes, 32);
}

TEST(PlanDeviceProbesTest, NeverProbesBetweenDiesOfOneCard) {
  ProbeFabric fabric = TwoPods();
  for (ProbePort& port : fabric.ports) {
    port.host = 0;
    port.rail = 0;
  }
  const ProbePlan plan = PlanDeviceProbes(fabric);
  EXPECT_THAT(plan.pairs, IsEmpty());
  EXPECT_EQ(Reasons(plan), std::set<WhyNotProbed>{WhyNotProbed::kSameCard});
}

TEST(PlanDeviceProbesTest, ProbesDirectCablesBetweenEqualIndicesOnly) {
  ProbeFabric fabric = MakeFabric({2, 4, 2});
  for (int i = 0; i < 4; ++i) {
    fabric.ports[i].direct_peer = 4 + i;
    fabric.ports[4 + i].direct_peer = i;
  }
  // A cable that is plugged into another device's port.
  fabric.ports[0].direct_peer = 5;
  fabric.ports[5].direct_peer = 0;
  const ProbePlan plan = PlanDeviceProbes(fabric);
  EXPECT_EQ(Reasons(plan),
            std::set<WhyNotProbed>{WhyNotProbed::kDirectOtherIndex});
  EXPECT_THAT(plan.pairs, SizeIs(4));
  for (const ProbePair& pair : plan.pairs) {
    EXPECT_EQ(std::abs(pair.from - pair.to), 4);
  }
}

TEST(PlanDeviceProbesTest, NeverProbesItsOwnAddress) {
  ProbeFabric fabric = MakeFabric({2, 1, 2});
  fabric.ports[1].address = fabric.ports[0].address;
  const ProbePlan plan = PlanDeviceProbes(fabric);
  EXPECT_THAT(plan.pairs, IsEmpty());
  EXPECT_EQ(Reasons(plan), std::set<WhyNotProbed>{WhyNotProbed::kSameAddress});
}

ProbeFabric Hosts(int count) {
  std::vector<std::string> names(count, "server");
  std::vector<Ipv4Address> addresses;
  for (int i = 0; i < count; ++i) {
    addresses.push_back(Ipv4Address(0x0a000001u + i));
  }
  return MakeHostFabric(names, addresses);
}

TEST(PlanHostDialsTest, AllDialTheRootAndTwoOthers) {
  const ProbePlan plan = PlanHostDials(Hosts(1152), 0);
  const auto to_root = absl::c_count_if(
      plan.pairs, [](const ProbePair& pair) { return pair.to == 0; });
  EXPECT_EQ(to_root, 1151);
  EXPECT_LE(plan.cost.probes, 3 * 1152);
  EXPECT_LE(plan.cost.longest_chain, 3);
}

TEST(PlanHostDialsTest, TwoHostsDialEachOther) {
  const ProbePlan plan = PlanHostDials(Hosts(2), 1);
  ASSERT_THAT(plan.pairs, SizeIs(2));
  EXPECT_NE(plan.pairs[0].from, plan.pairs[1].from);
}

TEST(PlanWitnessesTest, AsksThreeAboutADeadPort) {
  const ProbeFabric fabric = MakeFabric({24, 1, 8});
  FaultyNetwork network(fabric, 1);
  network.Add({FaultKind::kPort, {CulpritKind::kPort, 3}});
  std::vector<ProbeResult> results;
  network.Run(PlanDeviceProbes(fabric), &results);
  const ProbePlan plan = PlanWitnesses(fabric, results);
  ASSERT_THAT(plan.pairs, SizeIs(3));
  int near = 0;
  for (const ProbePair& pair : plan.pairs) {
    EXPECT_EQ(pair.to, 3);
    EXPECT_EQ(pair.stage, 3);
    near += fabric.ports[pair.from].leaf == fabric.ports[3].leaf;
  }
  EXPECT_EQ(near, 2);
}

TEST(PlanWitnessesTest, AsksNothingWhereNothingFailed) {
  const ProbeFabric fabric = MakeFabric({24, 1, 8});
  FaultyNetwork network(fabric, 1);
  std::vector<ProbeResult> results;
  network.Run(PlanDeviceProbes(fabric), &results);
  EXPECT_THAT(PlanWitnesses(fabric, results).pairs, IsEmpty());
}

TEST(PlanWitnessesTest, AsksThreeOtherLeavesAboutADeadLeaf) {
  const ProbeFabric fabric = MakeFabric({48, 1, 8});
  FaultyNetwork network(fabric, 1);
  network.Add({FaultKind::kLeaf, {CulpritKind::kLeaf, 1}});
  std::vector<ProbeResult> results;
  network.Run(PlanDeviceProbes(fabric), &results);
  const ProbePlan plan = PlanWitnesses(fabric, results);
  std::set<int> leaves;
  for (const ProbePair& pair : plan.pairs) {
    EXPECT_EQ(pair.to, 8);
    leaves.insert(fabric.ports[pair.from].leaf);
  }
  EXPECT_THAT(leaves, SizeIs(3));
  EXPECT_EQ(Reasons(plan), std::set<WhyNotProbed>{WhyNotProbed::kWholeLeaf});
}

TEST(PlanWitnessesTest, NoDeviceSendsMoreThanItsLimit) {
  const ProbeFabric fabric = MakeFabric({96, 1, 48});
  FaultyNetwork network(fabric, 1);
  // All but two under one leaf: everyone asks these two.
  for (int port = 2; port < 48; ++port) {
    network.Add({FaultKind::kPort, {CulpritKind::kPort, port}});
  }
  const ProbeOptions options = {8, 10};
  std::vector<ProbeResult> results;
  network.Run(PlanDeviceProbes(fabric, options), &results);
  const ProbePlan plan = PlanWitnesses(fabric, results, options);
  network.Run(plan, &results);
  std::map<int, int> sent;
  for (const ProbeResult& result : results) ++sent[result.from];
  for (const auto& [port, count] : sent) EXPECT_LE(count, 10) << port;
  EXPECT_TRUE(Reasons(plan).count(WhyNotProbed::kPingLimit));
}

TEST(PlanAgainTest, AsksOnceMoreWhatFailed) {
  const ProbeFabric fabric = MakeFabric({16, 1, 16});
  std::vector<ProbeResult> results(4);
  for (int i = 0; i < 4; ++i) results[i].from = i, results[i].to = i + 1;
  results[1].lost = 3;
  results[2].lost = 1;
  results[3].outcome = ProbeOutcome::kNotRun;
  const ProbePlan plan = PlanAgain(fabric, results);
  ASSERT_THAT(plan.pairs, SizeIs(2));
  EXPECT_EQ(plan.pairs[0].from, 1);
  EXPECT_EQ(plan.pairs[1].from, 2);
  EXPECT_EQ(plan.pairs[0].stage, 4);
  std::vector<ProbeResult> again = {results[1]};
  again[0].lost = 0;
  const std::vector<ProbeResult> merged = MergeAgain(results, again);
  ASSERT_THAT(merged, SizeIs(2));
  EXPECT_EQ(merged[0].from, 0);
  EXPECT_EQ(merged[1].from, 1);
}

}  // namespace
}  // namespace clusterd
