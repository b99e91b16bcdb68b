#include "config/probe/culprits.h"

#include <algorithm>
#include <limits>
#include <map>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_set.h"
#include "config/probe/hypotheses.h"
#include "config/probe/plan_probes.h"

namespace clusterd {
namespace {

// Good ports of its own leaf that must have failed with a port that is named.
constexpr size_t kGoodPeers = 2;
// In logs, which name no successes: other ports that accuse it.
constexpr size_t kAccusers = 3;
constexpr size_t kMostOthers = 4;

bool IsOfPort(CulpritKind kind) { return kind <= CulpritKind::kReceives; }

class Judgement {
 public:
  Judgement(const ProbeFabric& fabric, ProbePlane plane,
            absl::Span<const ProbeResult> results)
      : fabric_(fabric),
        plane_(plane),
        results_(results),
        hypotheses_(fabric, plane),
        usable_(results.size()),
        is_explained_(results.size()),
        packets_(fabric.ports.size()),
        is_good_(fabric.ports.size()) {
    diagnosis_.plane = plane;
  }

  Diagnosis Run() && {
    Sort();
    for (const auto& [port, failures] : by_known_cause_) {
      Culprit& culprit = AddCulprit({CulpritKind::kPort, port}, failures);
      culprit.known = WhyPortNotProbed(fabric_.ports[port], plane_);
    }
    ExplainUnanswered();
    ExplainLost();
    MergeLinks();
    absl::c_stable_sort(diagnosis_.culprits, [](const auto& a, const auto& b) {
      if (a.IsDecided() != b.IsDecided()) return a.IsDecided();
      return a.explained > b.explained;
    });
    SayWhatIsLeft();
    return std::move(diagnosis_);
  }

 private:
  int DomainOf(int port) const { return hypotheses_.index().DomainOf(port); }
  int LeafOf(int port) const {
    const PlaneIndex& index = hypotheses_.index();
    return index.FabricLeaf(index.domains()[DomainOf(port)].leaf);
  }
  int ReporterOf(int at) const {
    const ProbeResult& result = results_[at];
    return result.reporter == kNoIndex ? result.from : result.reporter;
  }

  void Sort() {
    for (size_t i = 0; i < results_.size(); ++i) {
      const ProbeResult& result = results_[i];
      if (result.plane != plane_ || !IsEvidence(result)) continue;
      const int at = static_cast<int>(i);
      packets_[result.from] += result.sent;
      packets_[result.to] += result.sent;
      diagnosis_.failed += HasFailed(result);
      diagnosis_.lossy += IsLossy(result);
      const bool is_bad = IsTrouble(result);
      if (is_bad) reporters_.insert(ReporterOf(at));
      if (is_bad) bad_.push_back(at);
      usable_[i] =
          DomainOf(result.from) != kNoIndex && DomainOf(result.to) != kNoIndex;
      if (!usable_[i]) {
        if (is_bad) AddToKnownCauses(at);
        continue;
      }
      if (is_bad) hypotheses_.Make(result);
      if (HasFailed(result)) {
        failed_.push_back(at);
      } else {
        is_good_[result.from] = is_good_[result.to] = true;
        has_answers_ = true;
      }
    }
  }

  // A failure of a port with a known cause needs no other.
  void AddToKnownCauses(int at) {
    for (int port : {results_[at].from, results_[at].to}) {
      const auto why = WhyPortNotProbed(fabric_.ports[port], plane_);
      if (why.has_value() && IsKnownCause(*why)) {
        by_known_cause_[port].push_back(at);
      }
    }
  }

  Culprit& AddCulprit(const CulpritId& id, const std::vector<int>& explains) {
    Culprit& culprit = diagnosis_.culprits.emplace_back();
    culprit.id = id;
    culprit.plane = plane_;
    culprit.explained = explains.size();
    culprit.reporters = reporters_.size();
    absl::flat_hash_set<int> agreeing;
    for (int at : explains) {
      agreeing.insert(ReporterOf(at));
      is_explained_[at] = true;
    }
    culprit.agreeing = agreeing.size();
    return culprit;
  }
  Culprit& AddCulprit(const Explanation& found) {
    Culprit& culprit =
        AddCulprit(hypotheses_.IdOf(found.hypothesis), found.explains);
    culprit.loss = found.loss;
    culprit.is_lossy = found.loss < 1;
    for (int rival : found.rivals) {
      AddOther(hypotheses_.IdOf(rival), &culprit);
    }
    return culprit;
  }
  static void AddOther(const CulpritId& id, Culprit* culprit) {
    if (culprit->or_else.size() < kMostOthers &&
        !absl::c_linear_search(culprit->or_else, id)) {
      culprit->or_else.push_back(id);
    }
  }

  void ExplainUnanswered() {
    const std::vector<Explanation> found =
        ExplainFailures({hypotheses_, results_, failed_, usable_});
    for (const Explanation& each : found) {
      Culprit& culprit = AddCulprit(each);
      if (IsOfPort(culprit.id.kind)) RequireWitnesses(each.explains, &culprit);
      for (int at : each.explains) usable_[at] = false;
    }
  }

  // Leaves a port undecided with which too few good ports failed: those that
  // are not good may be the culprits, or otherwise its leaf.
  void RequireWitnesses(const std::vector<int>& failures, Culprit* culprit) {
    const int port = culprit->id.a;
    // RoCE of a super pod is probed between pods alone, so from other leaves.
    const bool near_only = plane_ != ProbePlane::kRoce ||
                           fabric_.roce_inside_super_pods ||
                           fabric_.ports[port].super_pod == kNoIndex;
    absl::flat_hash_set<int> peers;
    size_t good = 0;
    std::vector<int> near;
    for (int at : failures) {
      const ProbeResult& result = results_[at];
      const int peer = result.from == port ? result.to : result.from;
      if (!peers.insert(peer).second) continue;
      const bool is_near = DomainOf(peer) == DomainOf(port);
      if (is_near) near.push_back(peer);
      if (is_good_[peer] && (is_near || !near_only)) ++good;
    }
    if (good >= kGoodPeers) return;
    if (!has_answers_ && peers.size() >= kAccusers) return;
    absl::c_stable_sort(
        near, [this](int a, int b) { return !is_good_[a] && is_good_[b]; });
    for (int peer : near) AddOther({CulpritKind::kPort, peer}, culprit);
    if (near.empty()) AddOther({CulpritKind::kLeaf, LeafOf(port)}, culprit);
  }

  void ExplainLost() {
    std::vector<int> lossy;
    for (int at : bad_) {
      if (usable_[at] && !is_explained_[at]) lossy.push_back(at);
    }
    const std::vector<Explanation> found =
        ExplainLosses({hypotheses_, results_, lossy, usable_});
    for (const Explanation& each : found) AddCulprit(each);
  }

  // Several links between two leaves are one path that loses some flows.
  void MergeLinks() {
    std::map<std::pair<int, int>, size_t> first_on_path;
    std::vector<Culprit> merged;
    for (Culprit& culprit : diagnosis_.culprits) {
      const CulpritId& id = culprit.id;
      if (id.kind == CulpritKind::kLink && LeafOf(id.a) != LeafOf(id.b)) {
        const std::pair<int, int> path =
            std::minmax({LeafOf(id.a), LeafOf(id.b)});
        const auto [entry, is_first] =
            first_on_path.try_emplace(path, merged.size());
        if (!is_first) {
          Culprit& first = merged[entry->second];
          first.id = {CulpritKind::kPath, path.first, path.second};
          first.is_lossy = true;
          first.or_else.clear();
          first.explained += culprit.explained;
          first.agreeing += culprit.agreeing;
          continue;
        }
      }
      merged.push_back(std::move(culprit));
    }
    diagnosis_.culprits = std::move(merged);
  }

  void SayWhatIsLeft() {
    absl::flat_hash_set<int> named;
    for (const Culprit& culprit : diagnosis_.culprits) {
      if (IsOfPort(culprit.id.kind)) named.insert(culprit.id.a);
    }
    uint64_t least = std::numeric_limits<uint64_t>::max();
    for (int port : hypotheses_.index().ports()) {
      ++(packets_[port] == 0 ? diagnosis_.unprobed_ports
                             : diagnosis_.probed_ports);
      if (packets_[port] > 0 && !named.contains(port)) {
        least = std::min(least, packets_[port]);
      }
    }
    if (least != std::numeric_limits<uint64_t>::max()) {
      diagnosis_.least_packets = least;
      diagnosis_.unseen_loss = UnseenLoss(least);
    }
    for (int at : bad_) {
      if (!is_explained_[at]) diagnosis_.unexplained.push_back(at);
    }
  }

  const ProbeFabric& fabric_;
  const ProbePlane plane_;
  const absl::Span<const ProbeResult> results_;
  Hypotheses hypotheses_;
  std::vector<bool> usable_;  // By result, like the next.
  std::vector<bool> is_explained_;
  std::vector<uint64_t> packets_;  // By port, like the next.
  std::vector<bool> is_good_;      // A success has cleared it.
  std::vector<int> bad_;           // Failed and lossy results, by index.
  std::vector<int> failed_;        // Without those of known causes.
  std::map<int, std::vector<int>> by_known_cause_;  // By port.
  bool has_answers_ = false;
  absl::flat_hash_set<int> reporters_;
  Diagnosis diagnosis_;
};

}  // namespace

Diagnosis Diagnose(const ProbeFabric& fabric, ProbePlane plane,
                   absl::Span<const ProbeResult> results) {
  return Judgement(fabric, plane, results).Run();
}

std::vector<Culprit> ConfirmedCulprits(const Diagnosis& first,
                                       const Diagnosis& second,
                                       absl::Duration apart) {
  std::vector<Culprit> confirmed;
  if (apart < kAgainAfter || first.plane != second.plane) return confirmed;
  for (const Culprit& culprit : second.culprits) {
    const auto was_there = [&](const Culprit& before) {
      return before.id == culprit.id;
    };
    if (culprit.IsDecided() && absl::c_any_of(first.culprits, was_there)) {
      confirmed.push_back(culprit);
    }
  }
  return confirmed;
}

}  // namespace clusterd
