#include "config/probe/culprits.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_set.h"
#include "config/probe/failure_cover.h"
#include "config/probe/hypotheses.h"
#include "config/probe/loss_cover.h"
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
            absl::Span<const ProbeResult> results, absl::Span<const int> hinted)
      : fabric_(fabric),
        plane_(plane),
        results_(results),
        hypotheses_(fabric, plane),
        hinted_(hinted.begin(), hinted.end()),
        usable_(results.size()),
        is_explained_(results.size()),
        packets_(fabric.ports.size()) {
    absl::c_sort(hinted_);
    diagnosis_.plane = plane;
  }

  Diagnosis Run() && {
    Sort();
    ExplainByKnownCauses();
    CountAnswered();
    if (!failed_.empty()) ExplainFailures();
    ExplainLosses();
    MergeLinks();
    Rank();
    SayWhatIsLeft();
    return std::move(diagnosis_);
  }

 private:
  bool IsOurs(const ProbeResult& result) const {
    return result.plane == plane_ && IsEvidence(result);
  }
  bool IsProbed(int port) const {
    return hypotheses_.index().DomainOf(port) != kNoIndex;
  }
  int ReporterOf(const ProbeResult& result) const {
    return result.reporter == kNoIndex ? result.from : result.reporter;
  }

  // Divides the results of the plane into answered, lossy and failed ones.
  void Sort() {
    for (size_t i = 0; i < results_.size(); ++i) {
      const ProbeResult& result = results_[i];
      if (!IsOurs(result)) continue;
      packets_[result.from] += result.sent;
      packets_[result.to] += result.sent;
      if (HasFailed(result)) {
        ++diagnosis_.failed;
        reporters_.insert(ReporterOf(result));
      } else if (IsLossy(result)) {
        ++diagnosis_.lossy;
        reporters_.insert(ReporterOf(result));
      }
      if (!IsProbed(result.from) || !IsProbed(result.to)) {
        if (HasFailed(result)) by_known_.push_back(static_cast<int>(i));
        continue;
      }
      usable_[i] = true;
      if (HasFailed(result)) {
        failed_.push_back(static_cast<int>(i));
        hypotheses_.Make(result);
      } else if (IsLossy(result)) {
        lossy_.push_back(static_cast<int>(i));
        hypotheses_.Make(result);
      }
    }
  }

  // A failure of a port with a known cause needs no other.
  void ExplainByKnownCauses() {
    std::vector<int> ports;
    for (int at : by_known_) {
      for (int port : {results_[at].from, results_[at].to}) {
        const auto why = WhyPortNotProbed(fabric_.ports[port], plane_);
        if (why.has_value() && IsKnownCause(*why)) ports.push_back(port);
      }
    }
    absl::c_sort(ports);
    ports.erase(std::unique(ports.begin(), ports.end()), ports.end());
    for (int port : ports) {
      std::vector<int> own;
      for (int at : by_known_) {
        if (results_[at].from == port || results_[at].to == port) {
          own.push_back(at);
        }
      }
      Culprit& culprit = AddCulprit({CulpritKind::kPort, port}, own);
      culprit.known = WhyPortNotProbed(fabric_.ports[port], plane_);
    }
  }

  void CountAnswered() {
    if (failed_.empty()) return;
    answered_.assign(hypotheses_.size(), 0);
    for (size_t i = 0; i < results_.size(); ++i) {
      if (!usable_[i] || HasFailed(results_[i])) continue;
      has_answers_ = true;
      hypotheses_.ForEach(results_[i], [this](int h) { ++answered_[h]; });
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
      agreeing.insert(ReporterOf(results_[at]));
      is_explained_[at] = true;
    }
    culprit.agreeing = agreeing.size();
    return culprit;
  }

  std::vector<int> ResultsAt(const std::vector<int>& positions,
                             const std::vector<int>& results) const {
    std::vector<int> indices;
    indices.reserve(positions.size());
    for (int at : positions) indices.push_back(results[at]);
    return indices;
  }

  void AddOthers(const std::vector<int>& rivals, Culprit* culprit) const {
    for (int rival : rivals) {
      if (culprit->or_else.size() == kMostOthers) return;
      culprit->or_else.push_back(hypotheses_.IdOf(rival));
    }
  }

  void ExplainFailures() {
    const std::vector<Explanation> found =
        CoverFailures({hypotheses_, results_, failed_, answered_, hinted_});
    for (const Explanation& each : found) {
      const std::vector<int> own = ResultsAt(each.explains, failed_);
      const CulpritId id = hypotheses_.IdOf(each.hypothesis);
      Culprit& culprit = AddCulprit(id, own);
      AddOthers(each.rivals, &culprit);
      for (int at : own) usable_[at] = false;
      if (IsOfPort(id.kind)) RequireWitnesses(own, &culprit);
    }
  }

  bool IsGood(int port) const {
    return answered_[port] > 0;
  }

  // RoCE of a super pod is only probed between pods, so from other leaves.
  bool MayHaveNearPeers(int port) const {
    return plane_ != ProbePlane::kRoce || fabric_.roce_inside_super_pods ||
           fabric_.ports[port].super_pod == kNoIndex;
  }

  // Leaves a port undecided that too few good ports failed with: those that
  // are not good may be the culprits, or otherwise what connects them.
  void RequireWitnesses(const std::vector<int>& failures, Culprit* culprit) {
    const int port = culprit->id.a;
    const PlaneIndex& index = hypotheses_.index();
    const bool near_only = MayHaveNearPeers(port);
    absl::flat_hash_set<int> good;
    absl::flat_hash_set<int> peers;
    std::vector<int> near;
    for (int at : failures) {
      const ProbeResult& result = results_[at];
      const int peer = result.from == port ? result.to : result.from;
      if (!peers.insert(peer).second) continue;
      const bool is_near = index.DomainOf(peer) == index.DomainOf(port);
      if (IsGood(peer) && (is_near || !near_only)) good.insert(peer);
      if (is_near) near.push_back(peer);
    }
    if (good.size() >= kGoodPeers) return;
    if (!has_answers_ && peers.size() >= kAccusers) return;
    // Those that are not good are likelier.
    absl::c_stable_sort(near,
                        [this](int a, int b) { return IsGood(a) < IsGood(b); });
    for (int peer : near) AddOther({CulpritKind::kPort, peer}, culprit);
    if (!near.empty()) return;
    const int leaf = index.domains()[index.DomainOf(port)].leaf;
    AddOther({CulpritKind::kLeaf, index.FabricLeaf(leaf)}, culprit);
  }

  static void AddOther(const CulpritId& id, Culprit* culprit) {
    if (culprit->or_else.size() < kMostOthers &&
        !absl::c_linear_search(culprit->or_else, id)) {
      culprit->or_else.push_back(id);
    }
  }

  void ExplainLosses() {
    std::vector<int> lossy = lossy_;
    for (int at : failed_) {
      if (!is_explained_[at]) lossy.push_back(at);
    }
    absl::c_sort(lossy);
    const std::vector<LossExplanation> found =
        CoverLosses(hypotheses_, results_, lossy, usable_);
    for (const LossExplanation& each : found) {
      Culprit& culprit = AddCulprit(hypotheses_.IdOf(each.hypothesis),
                                    ResultsAt(each.explains, lossy));
      culprit.is_lossy = each.loss < 1;
      culprit.loss = each.loss;
      AddOthers(each.rivals, &culprit);
    }
  }

  int LeafOf(int port) const {
    const PlaneIndex& index = hypotheses_.index();
    return index.FabricLeaf(index.domains()[index.DomainOf(port)].leaf);
  }

  // Several links between two leaves are one path that loses some flows.
  void MergeLinks() {
    std::vector<Culprit>& all = diagnosis_.culprits;
    for (size_t i = 0; i < all.size(); ++i) {
      if (all[i].id.kind != CulpritKind::kLink) continue;
      const auto path_of = [this](const CulpritId& link) {
        return std::minmax({LeafOf(link.a), LeafOf(link.b)});
      };
      const std::pair<int, int> path = path_of(all[i].id);
      if (path.first == path.second) continue;
      for (size_t k = all.size() - 1; k > i; --k) {
        if (all[k].id.kind != CulpritKind::kLink) continue;
        if (std::pair<int, int>(path_of(all[k].id)) != path) continue;
        all[i].id = {CulpritKind::kPath, path.first, path.second};
        all[i].is_lossy = true;
        all[i].explained += all[k].explained;
        all[i].agreeing += all[k].agreeing;
        all.erase(all.begin() + k);
        // Its id is no link any more, and the first link has set the path.
        MergeLinksInto(path, i, k);
        break;
      }
    }
  }
  void MergeLinksInto(const std::pair<int, int>& path, size_t into,
                      size_t below) {
    std::vector<Culprit>& all = diagnosis_.culprits;
    for (size_t k = below; k-- > into + 1;) {
      const CulpritId& id = all[k].id;
      if (id.kind != CulpritKind::kLink) continue;
      if (std::pair<int, int>(std::minmax({LeafOf(id.a), LeafOf(id.b)})) !=
          path) {
        continue;
      }
      all[into].explained += all[k].explained;
      all[into].agreeing += all[k].agreeing;
      all.erase(all.begin() + k);
    }
  }

  void Rank() {
    absl::c_stable_sort(diagnosis_.culprits,
                        [](const Culprit& a, const Culprit& b) {
                          if (a.IsDecided() != b.IsDecided())
                            return a.IsDecided();
                          return a.explained > b.explained;
                        });
  }

  void SayWhatIsLeft() {
    std::vector<bool> is_named(fabric_.ports.size());
    for (const Culprit& culprit : diagnosis_.culprits) {
      if (IsOfPort(culprit.id.kind)) is_named[culprit.id.a] = true;
    }
    uint64_t least = std::numeric_limits<uint64_t>::max();
    for (int port : hypotheses_.index().ports()) {
      if (packets_[port] == 0) {
        ++diagnosis_.unprobed_ports;
        continue;
      }
      ++diagnosis_.probed_ports;
      if (!is_named[port]) least = std::min(least, packets_[port]);
    }
    if (least != std::numeric_limits<uint64_t>::max()) {
      diagnosis_.least_packets = least;
      diagnosis_.unseen_loss = UnseenLoss(least);
    }
    if (diagnosis_.failed + diagnosis_.lossy == 0) return;
    for (size_t i = 0; i < results_.size(); ++i) {
      if (!IsOurs(results_[i]) || is_explained_[i]) continue;
      if (HasFailed(results_[i]) || IsLossy(results_[i])) {
        diagnosis_.unexplained.push_back(i);
      }
    }
  }

  const ProbeFabric& fabric_;
  const ProbePlane plane_;
  const absl::Span<const ProbeResult> results_;
  Hypotheses hypotheses_;
  std::vector<int> hinted_;
  std::vector<bool> usable_;  // By result, like the next.
  std::vector<bool> is_explained_;
  std::vector<uint64_t> packets_;  // By port.
  std::vector<int> failed_;        // Indices of results, like the next two.
  std::vector<int> lossy_;
  std::vector<int> by_known_;
  std::vector<int> answered_;  // By hypothesis.
  bool has_answers_ = false;
  absl::flat_hash_set<int> reporters_;
  Diagnosis diagnosis_;
};

}  // namespace

Diagnosis Diagnose(const ProbeFabric& fabric, ProbePlane plane,
                   absl::Span<const ProbeResult> results,
                   absl::Span<const int> hinted) {
  return Judgement(fabric, plane, results, hinted).Run();
}

std::vector<Culprit> ConfirmedCulprits(const Diagnosis& first,
                                       const Diagnosis& second,
                                       absl::Duration apart) {
  std::vector<Culprit> confirmed;
  if (apart < kAgainAfter) return confirmed;
  for (const Culprit& culprit : second.culprits) {
    if (!culprit.IsDecided()) continue;
    const bool was_there =
        absl::c_any_of(first.culprits, [&](const Culprit& before) {
          return before.id == culprit.id && before.plane == culprit.plane;
        });
    if (was_there) confirmed.push_back(culprit);
  }
  return confirmed;
}

}  // namespace clusterd
