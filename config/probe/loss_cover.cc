#include "config/probe/loss_cover.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/algorithm/container.h"

namespace clusterd {
namespace {

// The share of packets that a healthy network may lose.
constexpr double kBackgroundLoss = 0.001;
// Gain in log-likelihood that a culprit must bring: more than any one lost
// packet of three, ln(1000), less than two lost ones of one port.
constexpr double kLeastGain = 7;
// ln(20).
constexpr double kRivalMargin = 3;
// A cluster with more lossy culprits has another trouble.
constexpr size_t kMostCulprits = 64;

struct Packets {
  int lost = 0;
  int sent = 0;
};

double GainOf(const Packets& packets) {
  if (packets.lost == 0) return 0;
  const double lost = packets.lost;
  const double arrived = packets.sent - packets.lost;
  const double share = lost / packets.sent;
  double gain = lost * (std::log(share) - std::log(kBackgroundLoss));
  if (arrived > 0) {
    gain += arrived * (std::log1p(-share) - std::log1p(-kBackgroundLoss));
  }
  return gain;
}

bool IsNarrow(CulpritKind kind) {
  return kind <= CulpritKind::kReceives || kind == CulpritKind::kLink;
}

class LossCover {
 public:
  LossCover(const Hypotheses& hypotheses, absl::Span<const ProbeResult> results,
            absl::Span<const int> lossy, const std::vector<bool>& usable)
      : space_(hypotheses), results_(results), lossy_(lossy) {
    slot_of_.assign(space_.size(), kNoIndex);
    for (size_t at = 0; at < lossy_.size(); ++at) {
      space_.ForEach(results_[lossy_[at]], [&](int h) {
        if (slot_of_[h] == kNoIndex) {
          slot_of_[h] = static_cast<int>(slots_.size());
          slots_.emplace_back().hypothesis = h;
        }
        slots_[slot_of_[h]].lossy.push_back(static_cast<int>(at));
      });
    }
    for (size_t i = 0; i < results_.size(); ++i) {
      if (!usable[i]) continue;
      space_.ForEach(results_[i], [&](int h) {
        if (slot_of_[h] == kNoIndex) return;
        slots_[slot_of_[h]].packets.lost += results_[i].lost;
        slots_[slot_of_[h]].packets.sent += results_[i].sent;
      });
    }
  }

  // Narrow ones alone, or with broad ones: what explains more. A broad one
  // otherwise swallows two faults that lie beside each other.
  std::vector<LossExplanation> Run() {
    auto [narrow, narrow_gain] = Choose(true);
    auto [all, all_gain] = Choose(false);
    return all_gain > narrow_gain ? std::move(all) : std::move(narrow);
  }

 private:
  struct Slot {
    int hypothesis = 0;
    Packets packets;
    std::vector<int> lossy;
  };

  std::pair<std::vector<LossExplanation>, double> Choose(bool narrow_only) {
    std::vector<Slot> slots = slots_;
    if (narrow_only) {
      slots.erase(
          std::remove_if(slots.begin(), slots.end(),
                         [this](const Slot& slot) {
                           return !IsNarrow(space_.KindOf(slot.hypothesis));
                         }),
          slots.end());
    }
    std::vector<bool> explained(lossy_.size());
    std::vector<LossExplanation> chosen;
    double total = 0;
    while (chosen.size() < kMostCulprits) {
      const Slot* best = BestOf(slots);
      if (best == nullptr || GainOf(best->packets) < kLeastGain) break;
      total += GainOf(best->packets) - kLeastGain;
      chosen.push_back(Explain(*best, slots, explained));
      for (int at : chosen.back().explains) explained[at] = true;
      Withdraw(chosen.back().explains, &slots);
    }
    return {std::move(chosen), total};
  }

  // Of the highest gain; among equals the narrowest.
  const Slot* BestOf(const std::vector<Slot>& slots) const {
    const Slot* best = nullptr;
    double most = 0;
    for (const Slot& slot : slots) {
      const double gain = GainOf(slot.packets);
      const bool is_better =
          best == nullptr || gain > most + 1e-9 ||
          (gain > most - 1e-9 && slot.hypothesis < best->hypothesis);
      if (!is_better) continue;
      best = &slot;
      most = gain;
    }
    return best;
  }

  LossExplanation Explain(const Slot& best, const std::vector<Slot>& slots,
                          const std::vector<bool>& explained) const {
    LossExplanation explanation;
    explanation.hypothesis = best.hypothesis;
    explanation.loss =
        static_cast<double>(best.packets.lost) / best.packets.sent;
    for (int at : best.lossy) {
      if (!explained[at]) explanation.explains.push_back(at);
    }
    const CulpritId id = space_.IdOf(best.hypothesis);
    const double gain = GainOf(best.packets);
    for (const Slot& slot : slots) {
      if (slot.hypothesis == best.hypothesis) continue;
      if (GainOf(slot.packets) < gain - kRivalMargin) continue;
      if (AreKin(id, space_.IdOf(slot.hypothesis))) continue;
      // Another place is another culprit, not another explanation.
      if (absl::c_includes(slot.lossy, explanation.explains)) {
        explanation.rivals.push_back(slot.hypothesis);
      }
    }
    absl::c_sort(explanation.rivals);
    return explanation;
  }

  // What is explained counts for no other hypothesis.
  void Withdraw(const std::vector<int>& explained, std::vector<Slot>* slots) {
    std::vector<Packets> less(space_.size());
    for (int at : explained) {
      const ProbeResult& result = results_[lossy_[at]];
      space_.ForEach(result, [&](int h) {
        less[h].lost += result.lost;
        less[h].sent += result.sent;
      });
    }
    for (Slot& slot : *slots) {
      slot.packets.lost -= less[slot.hypothesis].lost;
      slot.packets.sent -= less[slot.hypothesis].sent;
    }
  }

  const Hypotheses& space_;
  const absl::Span<const ProbeResult> results_;
  const absl::Span<const int> lossy_;
  std::vector<int> slot_of_;  // By hypothesis.
  std::vector<Slot> slots_;
};

}  // namespace

std::vector<LossExplanation> CoverLosses(const Hypotheses& hypotheses,
                                         absl::Span<const ProbeResult> results,
                                         absl::Span<const int> lossy,
                                         const std::vector<bool>& usable) {
  if (lossy.empty()) return {};
  return LossCover(hypotheses, results, lossy, usable).Run();
}

}  // namespace clusterd
