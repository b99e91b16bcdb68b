// Random networks with faults that are known: what is named must be what is
// broken. Prints precision and recall of each kind of fault.
#include <cstdio>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "config/probe/culprits.h"
#include "config/probe/plan_probes.h"
#include "gtest/gtest.h"
#include "tests/sim/probe/faulty_network.h"

namespace clusterd {
namespace {

struct Score {
  int faults = 0;
  int named = 0;
  int right = 0;
  double Recall() const {
    return faults == 0 ? 1 : static_cast<double>(right) / faults;
  }
  double Precision() const {
    return named == 0 ? 1 : static_cast<double>(right) / named;
  }
};

bool Names(const Culprit& culprit, const Fault& fault) {
  if (culprit.id == fault.id) return true;
  // Under a leaf with one rail, and over the only rail of a path, the names
  // of the leaf and of its rail mean the same.
  return culprit.id.rail != kNoIndex && fault.id.rail == kNoIndex &&
         culprit.id.a == fault.id.a && culprit.id.b == fault.id.b &&
         fault.id.kind != CulpritKind::kPort &&
         fault.id.kind != CulpritKind::kHost;
}

NetworkShape RandomShape(Dice* dice) {
  NetworkShape shape;
  shape.rails = dice->Below(2) == 0 ? 4 : 8;
  shape.leaf_hosts = dice->Between(6, 16);
  shape.hosts = shape.leaf_hosts * dice->Between(4, 6) + dice->Below(4);
  shape.leaf_per_rail = dice->Below(2) == 0;
  return shape;
}

// `kinds` all at once in one random network.
void RunOnce(uint64_t seed, const std::vector<FaultKind>& kinds, Score* score) {
  Dice dice(seed);
  ProbeFabric fabric = MakeFabric(RandomShape(&dice));
  // A few ports may not be probed.
  for (int i = dice.Below(4); i > 0; --i) {
    fabric.ports[dice.Below(fabric.ports.size())].excluded =
        WhyNotProbed::kInUse;
  }
  FaultyNetwork network(fabric, seed + 1);
  for (FaultKind kind : kinds) network.AddRandom(kind);
  const std::vector<ProbeResult> results = ProbeAll(fabric, &network);
  const Diagnosis diagnosis = Diagnose(fabric, ProbePlane::kRoce, results);
  std::vector<Fault> faults;
  for (const Fault& fault : network.faults()) {
    const bool is_probed = (fault.id.kind != CulpritKind::kPort &&
                            fault.id.kind != CulpritKind::kSends &&
                            fault.id.kind != CulpritKind::kReceives) ||
                           !fabric.ports[fault.id.a].excluded.has_value();
    if (is_probed) faults.push_back(fault);
  }
  score->faults += faults.size();
  for (const Culprit& culprit : diagnosis.culprits) {
    if (!culprit.IsDecided()) continue;
    ++score->named;
    score->right += absl::c_any_of(
        faults, [&](const Fault& fault) { return Names(culprit, fault); });
  }
}

void Print(const char* what, const Score& score) {
  std::printf("%-14s faults %4d precision %.3f recall %.3f\n", what,
              score.faults, score.Precision(), score.Recall());
}

TEST(CulpritsRandomTest, NamesEverySingleFault) {
  constexpr int kNetworks = 12;
  for (FaultKind kind : kAllFaults) {
    Score score;
    for (int i = 0; i < kNetworks; ++i) {
      RunOnce(1000 * static_cast<int>(kind) + i, {kind}, &score);
    }
    Print(FaultName(kind), score);
    EXPECT_EQ(score.Precision(), 1) << FaultName(kind);
    EXPECT_EQ(score.Recall(), 1) << FaultName(kind);
  }
}

Score OfSeveral(int faults, int networks, uint64_t seed) {
  Score score;
  Dice dice(seed);
  for (int i = 0; i < networks; ++i) {
    std::vector<FaultKind> kinds;
    for (int k = 0; k < faults; ++k) {
      kinds.push_back(kAllFaults[dice.Below(std::size(kAllFaults))]);
    }
    RunOnce(seed + i, kinds, &score);
  }
  Print(absl::StrCat(faults, " at once").c_str(), score);
  return score;
}

TEST(CulpritsRandomTest, NamesPairs) {
  const Score score = OfSeveral(2, 120, 50000);
  EXPECT_GE(score.Precision(), 0.98);
  EXPECT_GE(score.Recall(), 0.98);
}

TEST(CulpritsRandomTest, NamesFive) {
  const Score score = OfSeveral(5, 60, 60000);
  EXPECT_GE(score.Precision(), 0.95);
  EXPECT_GE(score.Recall(), 0.95);
}

TEST(CulpritsRandomTest, NamesNothingInHealthyNetworks) {
  Score score;
  for (int i = 0; i < 20; ++i) RunOnce(70000 + i, {}, &score);
  EXPECT_EQ(score.named, 0);
}

}  // namespace
}  // namespace clusterd
