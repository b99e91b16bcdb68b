#include "config/probe/culprits.h"

#include <gmock/gmock.h>

#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "config/probe/plan_probes.h"
#include "gtest/gtest.h"
#include "tests/sim/probe/faulty_network.h"

namespace clusterd {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

ProbeResult Failed(int from, int to, ProbePlane plane = ProbePlane::kRoce) {
  ProbeResult result;
  result.from = from;
  result.to = to;
  result.plane = plane;
  result.lost = result.sent;
  return result;
}
ProbeResult Answered(int from, int to, ProbePlane plane = ProbePlane::kRoce) {
  ProbeResult result = Failed(from, to, plane);
  result.lost = 0;
  return result;
}

Diagnosis DiagnoseFault(const ProbeFabric& fabric, const Fault& fault) {
  FaultyNetwork network(fabric, 7);
  network.Add(fault);
  return Diagnose(fabric, ProbePlane::kRoce, ProbeAll(fabric, &network));
}

TEST(DiagnoseTest, APassSaysWhatItCouldHaveMissed) {
  const ProbeFabric fabric = MakeFabric({16, 1, 16});
  FaultyNetwork network(fabric, 1);
  const Diagnosis diagnosis =
      Diagnose(fabric, ProbePlane::kRoce, ProbeAll(fabric, &network));
  EXPECT_TRUE(diagnosis.IsPass());
  EXPECT_EQ(diagnosis.least_packets, 12);
  EXPECT_NEAR(diagnosis.unseen_loss, 0.221, 0.001);
  EXPECT_EQ(
      DiagnosisText(fabric, diagnosis),
      absl::StrCat("pass: loss under 22 % at 95 % confidence, ", "16 ports"));
}

TEST(DiagnoseTest, APortWithoutAResultIsNoPass) {
  const ProbeFabric fabric = MakeFabric({3, 1, 3});
  const Diagnosis diagnosis =
      Diagnose(fabric, ProbePlane::kRoce, {Answered(0, 1)});
  EXPECT_EQ(diagnosis.unprobed_ports, 1);
  EXPECT_FALSE(diagnosis.IsPass());
}

TEST(DiagnoseTest, NothingProbedIsNoLossBound) {
  const ProbeFabric fabric = MakeFabric({4, 1, 4});
  const Diagnosis diagnosis = Diagnose(fabric, ProbePlane::kRoce, {});
  EXPECT_EQ(diagnosis.probed_ports, 0);
  EXPECT_EQ(diagnosis.unprobed_ports, 4);
  EXPECT_EQ(diagnosis.unseen_loss, 1);
}

TEST(DiagnoseTest, UndecidedWhereTwoPortsAreAloneUnderALeaf) {
  const ProbeFabric fabric = MakeFabric({2, 1, 2});
  const Diagnosis diagnosis =
      DiagnoseFault(fabric, {FaultKind::kPort, {CulpritKind::kPort, 1}});
  ASSERT_THAT(diagnosis.culprits, SizeIs(1));
  const Culprit& culprit = diagnosis.culprits[0];
  EXPECT_EQ(culprit.id, (CulpritId{CulpritKind::kPort, 0}));
  EXPECT_THAT(culprit.or_else, Contains(CulpritId{CulpritKind::kPort, 1}));
}

TEST(DiagnoseTest, UndecidedWithOneGoodWitnessUnderTheLeaf) {
  // Three ports of a leaf, of which two are dead; other leaves are good.
  const ProbeFabric fabric = MakeFabric({12, 1, 3});
  FaultyNetwork network(fabric, 7);
  network.Add({FaultKind::kPort, {CulpritKind::kPort, 0}});
  network.Add({FaultKind::kPort, {CulpritKind::kPort, 1}});
  const Diagnosis diagnosis =
      Diagnose(fabric, ProbePlane::kRoce, ProbeAll(fabric, &network));
  ASSERT_THAT(diagnosis.culprits, SizeIs(2));
  for (const Culprit& culprit : diagnosis.culprits) {
    EXPECT_EQ(culprit.id.kind, CulpritKind::kPort);
    EXPECT_LT(culprit.id.a, 2);
    EXPECT_FALSE(culprit.IsDecided());
  }
}

TEST(DiagnoseTest, UndecidedBetweenTwoLeavesAndTheirPath) {
  const ProbeFabric fabric = MakeFabric({16, 1, 8});
  const Diagnosis diagnosis =
      DiagnoseFault(fabric, {FaultKind::kUplinks, {CulpritKind::kUplinks, 0}});
  ASSERT_THAT(diagnosis.culprits, SizeIs(1));
  EXPECT_FALSE(diagnosis.culprits[0].IsDecided());
}

TEST(DiagnoseTest, OneLostPacketIsNoCulpritAndNoPass) {
  const ProbeFabric fabric = MakeFabric({16, 1, 16});
  FaultyNetwork network(fabric, 1);
  std::vector<ProbeResult> results;
  network.Run(PlanDeviceProbes(fabric), &results);
  results[5].lost = 1;
  const Diagnosis diagnosis = Diagnose(fabric, ProbePlane::kRoce, results);
  EXPECT_THAT(diagnosis.culprits, IsEmpty());
  EXPECT_THAT(diagnosis.unexplained, ElementsAre(5));
  EXPECT_FALSE(diagnosis.IsPass());
}

TEST(DiagnoseTest, KnownCausesExplainFailuresFirst) {
  ProbeFabric fabric = MakeFabric({8, 1, 8});
  fabric.ports[2].excluded = WhyNotProbed::kPortDown;
  const Diagnosis diagnosis = Diagnose(
      fabric, ProbePlane::kRoce, {Failed(1, 2), Failed(2, 3), Answered(1, 3)});
  ASSERT_THAT(diagnosis.culprits, SizeIs(1));
  EXPECT_EQ(diagnosis.culprits[0].id, (CulpritId{CulpritKind::kPort, 2}));
  EXPECT_EQ(diagnosis.culprits[0].known, WhyNotProbed::kPortDown);
  EXPECT_THAT(diagnosis.unexplained, IsEmpty());
}

TEST(DiagnoseTest, ProbesThatDidNotRunAreNoEvidence) {
  const ProbeFabric fabric = MakeFabric({4, 1, 4});
  ProbeResult result = Failed(0, 1);
  result.outcome = ProbeOutcome::kNotRun;
  const Diagnosis diagnosis = Diagnose(fabric, ProbePlane::kRoce, {result});
  EXPECT_EQ(diagnosis.failed, 0);
  EXPECT_EQ(diagnosis.probed_ports, 0);
}

TEST(DiagnoseTest, PlanesAreApart) {
  ProbeFabric fabric = MakeFabric({8, 1, 8});
  for (ProbePort& port : fabric.ports) {
    port.super_pod = 1;
    port.vnic = Ipv4Address(0xc0000001u + port.host);
  }
  FaultyNetwork network(fabric, 1);
  network.Add({FaultKind::kPort, {CulpritKind::kPort, 4}});
  const std::vector<ProbeResult> results = ProbeAll(fabric, &network);
  const Diagnosis hccs = Diagnose(fabric, ProbePlane::kHccs, results);
  ASSERT_THAT(hccs.culprits, SizeIs(1));
  EXPECT_EQ(hccs.culprits[0].id, (CulpritId{CulpritKind::kPort, 4}));
  EXPECT_TRUE(hccs.culprits[0].IsDecided());
  EXPECT_EQ(Diagnose(fabric, ProbePlane::kRoce, results).probed_ports, 0);
}

TEST(DiagnoseTest, NamesTheHostThatRefusesEveryDial) {
  constexpr int kHosts = 32;
  std::vector<std::string> names;
  std::vector<Ipv4Address> addresses;
  for (int i = 0; i < kHosts; ++i) {
    names.push_back(absl::StrCat("server", i));
    addresses.push_back(Ipv4Address(0x0a000001u + i));
  }
  const ProbeFabric hosts = MakeHostFabric(names, addresses);
  FaultyNetwork network(hosts, 1);
  network.Add({FaultKind::kReceives, {CulpritKind::kReceives, 0}});
  std::vector<ProbeResult> results;
  network.Run(PlanHostDials(hosts, 0), &results);
  network.Run(PlanWitnesses(hosts, results, {8, 64}), &results);
  const Diagnosis diagnosis = Diagnose(hosts, ProbePlane::kHost, results);
  ASSERT_THAT(diagnosis.culprits, SizeIs(1));
  EXPECT_TRUE(diagnosis.culprits[0].IsDecided());
  EXPECT_EQ(diagnosis.culprits[0].id, (CulpritId{CulpritKind::kReceives, 0}));
  EXPECT_EQ(CulpritName(hosts, diagnosis.culprits[0].id),
            "what server0 receives");
}

TEST(DiagnoseTest, CountsTheTablesThatAgree) {
  const ProbeFabric fabric = MakeFabric({128, 1, 32});
  std::vector<LinkErrorRow> rows;
  // 63 tables name port 3. One names another pair.
  for (int i = 10; i < 73; ++i) {
    rows.push_back({fabric.ports[i].address, fabric.ports[3].address, i < 40});
    rows.push_back(rows.back());
  }
  rows.push_back({fabric.ports[100].address, fabric.ports[101].address, true});
  rows.push_back({Ipv4Address(1), fabric.ports[3].address, true});
  const LinkErrorResults logs = ResultsFromLinkErrors(fabric, rows);
  EXPECT_EQ(logs.unknown_rows, 1);
  EXPECT_THAT(logs.results, SizeIs(64));
  const Diagnosis diagnosis = Diagnose(fabric, ProbePlane::kRoce, logs.results);
  ASSERT_THAT(diagnosis.culprits, SizeIs(2));
  EXPECT_EQ(CulpritText(fabric, diagnosis.culprits[0]),
            absl::StrCat("server3 device 0: ", "63 of 64 reporters agree"));
  EXPECT_FALSE(diagnosis.culprits[1].IsDecided());
}

TEST(ResultsFromLinkErrorsTest, RolesTellWhoBegan) {
  const ProbeFabric fabric = MakeFabric({2, 1, 2});
  const Ipv4Address here = fabric.ports[0].address;
  const Ipv4Address there = fabric.ports[1].address;
  const std::vector<ProbeResult> results =
      ResultsFromLinkErrors(fabric, {{here, there, true}, {here, there, false}})
          .results;
  ASSERT_THAT(results, SizeIs(2));
  EXPECT_EQ(results[0].from, 1);
  EXPECT_EQ(results[0].reporter, 0);
  EXPECT_EQ(results[1].from, 0);
}

TEST(ResultsFromLinkErrorsTest, AnAddressOfTwoPortsIsUnknown) {
  ProbeFabric fabric = MakeFabric({3, 1, 3});
  fabric.ports[1].address = fabric.ports[0].address;
  const LinkErrorResults logs = ResultsFromLinkErrors(
      fabric, {{fabric.ports[2].address, fabric.ports[0].address, true}});
  EXPECT_THAT(logs.results, IsEmpty());
  EXPECT_EQ(logs.unknown_rows, 1);
}

TEST(ConfirmedCulpritsTest, NeedsTheSameCulpritTwiceAndAPauseBetween) {
  const ProbeFabric fabric = MakeFabric({24, 1, 8});
  FaultyNetwork network(fabric, 7);
  network.Add({FaultKind::kPort, {CulpritKind::kPort, 5}});
  const std::vector<ProbeResult> results = ProbeAll(fabric, &network);
  const Diagnosis first = Diagnose(fabric, ProbePlane::kRoce, results);
  std::vector<ProbeResult> again;
  network.Run(PlanAgain(fabric, results), &again);
  const Diagnosis second =
      Diagnose(fabric, ProbePlane::kRoce, MergeAgain(results, again));
  EXPECT_THAT(ConfirmedCulprits(first, second, absl::Seconds(30)), SizeIs(1));
  EXPECT_THAT(ConfirmedCulprits(first, second, absl::Seconds(29)), IsEmpty());
  for (ProbeResult& result : again) result.lost = 0;
  const Diagnosis healed =
      Diagnose(fabric, ProbePlane::kRoce, MergeAgain(results, again));
  EXPECT_TRUE(healed.IsPass());
  EXPECT_THAT(ConfirmedCulprits(first, healed, absl::Minutes(1)), IsEmpty());
}

TEST(UnseenLossTest, FollowsTheNumberOfPackets) {
  EXPECT_EQ(UnseenLoss(0), 1);
  EXPECT_NEAR(UnseenLoss(12), 0.2209, 0.0001);
  EXPECT_NEAR(UnseenLoss(3000), 0.001, 0.0001);
  EXPECT_NEAR(UnseenLoss(12, 0.99), 0.3187, 0.0001);
}

}  // namespace
}  // namespace clusterd
