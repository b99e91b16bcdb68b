// Stages 3 and 4 of plan_probes.h: who is asked about a suspect, and again.
#include <algorithm>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "config/probe/plan_probes.h"
#include "config/probe/probe_sheet.h"

namespace clusterd {
namespace {

constexpr int kNearWitnesses = 2;
constexpr int kWitnesses = 3;
// As many odd probes, which failed between good ports, make a port a suspect.
constexpr int kOddProbes = 2;
// Ports of a leaf that are tried as witnesses before it counts as used up.
constexpr int kMostTries = 64;

uint64_t OrderedPair(int from, int to) {
  return static_cast<uint64_t>(from) << 32 | static_cast<uint32_t>(to);
}

class WitnessPlanner {
 public:
  WitnessPlanner(const ProbeFabric& fabric, ProbePlane plane,
                 absl::Span<const ProbeResult> results, ProbeSheet* sheet)
      : fabric_(fabric),
        plane_(plane),
        results_(results),
        index_(fabric, plane),
        sheet_(sheet),
        reached_(fabric.ports.size()),
        failed_(fabric.ports.size()),
        odd_(fabric.ports.size()) {}

  void Plan() {
    for (const ProbeResult& result : results_) {
      if (!IsOurs(result)) continue;
      if (HasFailed(result)) {
        ++failed_[result.from];
        ++failed_[result.to];
      } else {
        reached_[result.from] = reached_[result.to] = true;
      }
    }
    AskOtherWay();
    FindGood();
    for (size_t d = 0; d < index_.domains().size(); ++d) {
      PlanDomain(static_cast<int>(d));
    }
  }

 private:
  bool IsOurs(const ProbeResult& result) const {
    return result.plane == plane_ && IsEvidence(result) &&
           index_.DomainOf(result.from) != kNoIndex &&
           index_.DomainOf(result.to) != kNoIndex;
  }
  bool IsSuspect(int port) const { return !reached_[port] && failed_[port]; }

  // Probes that failed though both ends are good, or lost packets.
  void AskOtherWay() {
    std::vector<ProbePair> odd;
    for (const ProbeResult& result : results_) {
      if (!IsOurs(result) || !IsTrouble(result)) continue;
      tried_.insert(OrderedPair(result.from, result.to));
      if (!reached_[result.from] || !reached_[result.to]) continue;
      ++odd_[result.from];
      ++odd_[result.to];
      odd.push_back({result.to, result.from, plane_, 3});
    }
    for (const ProbePair& pair : odd) Ask(pair.from, pair.to);
  }

  void FindGood() {
    good_.resize(index_.domains().size());
    for (int port : index_.ports()) {
      if (!reached_[port] || odd_[port] >= kOddProbes) continue;
      good_[index_.DomainOf(port)].push_back(port);
    }
    turn_.resize(good_.size());
  }

  bool Ask(int from, int to) {
    if (!tried_.insert(OrderedPair(from, to)).second) return false;
    return sheet_->Add({from, to, plane_, 3});
  }

  // Asks up to `count` good ports of the domain, and the suspect about them if
  // `both_ways`; returns the number asked.
  int AskDomain(int suspect, int domain, int count, bool both_ways) {
    const std::vector<int>& good = good_[domain];
    const int tries = std::min<int>(kMostTries, good.size());
    int asked = 0;
    for (int i = 0; i < tries && asked < count; ++i) {
      const int witness = good[turn_[domain]++ % good.size()];
      // Without a note of each pair that is not possible: others are.
      if (witness == suspect ||
          WhyPairNotProbed(fabric_, witness, suspect, plane_).has_value() ||
          !Ask(witness, suspect)) {
        continue;
      }
      if (both_ways) Ask(suspect, witness);
      ++asked;
    }
    return asked;
  }

  // Asks one port in each of up to `count` other leaves of the rail.
  int AskFar(int suspect, int count, bool both_ways) {
    const int own = index_.DomainOf(suspect);
    const int size = static_cast<int>(good_.size());
    int asked = 0;
    for (int step = 1; step < size && asked < count; ++step) {
      const int domain = (own + step) % size;
      if (index_.domains()[domain].rail != index_.domains()[own].rail) continue;
      asked += AskDomain(suspect, domain, 1, both_ways);
    }
    return asked;
  }

  void PlanDomain(int domain) {
    const absl::Span<const int> ports =
        index_.PortsOf(index_.domains()[domain]);
    const bool is_whole =
        ports.size() > 1 &&
        absl::c_all_of(ports, [this](int port) { return IsSuspect(port); });
    bool has_delegate = false;
    for (int port : ports) {
      const bool is_odd = reached_[port] && odd_[port] >= kOddProbes;
      if (!IsSuspect(port) && !is_odd) continue;
      if (is_whole) {
        if (has_delegate) {
          sheet_->Skip(port, plane_, WhyNotProbed::kWholeLeaf);
        } else {
          AskFar(port, kWitnesses, false);
        }
        has_delegate = true;
        continue;
      }
      const int near = AskDomain(port, domain, kNearWitnesses, is_odd);
      if (near < kNearWitnesses && good_[domain].size() < kNearWitnesses) {
        sheet_->Skip(port, plane_, WhyNotProbed::kFewWitnesses);
      }
      const int far = AskFar(port, kWitnesses - near, is_odd);
      AskDomain(port, domain, kWitnesses - near - far, is_odd);
    }
  }

  const ProbeFabric& fabric_;
  const ProbePlane plane_;
  const absl::Span<const ProbeResult> results_;
  const PlaneIndex index_;
  ProbeSheet* const sheet_;
  std::vector<bool> reached_;  // By port, like the next two.
  std::vector<int> failed_;
  std::vector<int> odd_;
  absl::flat_hash_set<uint64_t> tried_;  // Pairs without a full answer.
  std::vector<std::vector<int>> good_;   // By domain.
  std::vector<int> turn_;                // The next witness, by domain.
};

}  // namespace

ProbePlan PlanWitnesses(const ProbeFabric& fabric,
                        absl::Span<const ProbeResult> results,
                        const ProbeOptions& options) {
  ProbeSheet sheet(fabric, options.most_pings);
  for (const ProbeResult& result : results) sheet.AddLoad(result.from);
  for (ProbePlane plane :
       {ProbePlane::kRoce, ProbePlane::kHccs, ProbePlane::kHost}) {
    const bool has_trouble =
        absl::c_any_of(results, [plane](const ProbeResult& result) {
          return result.plane == plane && IsTrouble(result);
        });
    if (has_trouble) WitnessPlanner(fabric, plane, results, &sheet).Plan();
  }
  return std::move(sheet).Finish();
}

ProbePlan PlanAgain(const ProbeFabric& fabric,
                    absl::Span<const ProbeResult> results,
                    const ProbeOptions& options) {
  ProbeSheet sheet(fabric, options.most_pings);
  for (const ProbeResult& result : results) sheet.AddLoad(result.from);
  absl::flat_hash_map<uint64_t, int> planes_of_pair;
  for (const ProbeResult& result : results) {
    if (!IsTrouble(result)) continue;
    const int plane = 1 << static_cast<int>(result.plane);
    int& planes = planes_of_pair[OrderedPair(result.from, result.to)];
    if ((planes & plane) != 0) continue;
    planes |= plane;
    sheet.Add({result.from, result.to, result.plane, 4});
  }
  return std::move(sheet).Finish();
}

std::vector<ProbeResult> MergeAgain(absl::Span<const ProbeResult> first,
                                    absl::Span<const ProbeResult> again) {
  std::vector<ProbeResult> merged;
  merged.reserve(first.size() + again.size());
  for (const ProbeResult& result : first) {
    if (IsEvidence(result) && !IsTrouble(result)) merged.push_back(result);
  }
  merged.insert(merged.end(), again.begin(), again.end());
  return merged;
}

}  // namespace clusterd
