// The cover of hypotheses.h: the same greedy choice for failures and losses,
// which differ in what a hypothesis is worth.
#include <algorithm>
#include <cmath>
#include <queue>
#include <tuple>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_set.h"
#include "config/probe/hypotheses.h"

namespace clusterd {
namespace {

constexpr double kLeastCostOfMany = 1.5;
// As many probes make a path or an uplink; fewer may be links.
constexpr size_t kLeastFailuresOfPath = 3;

// The share of packets that a healthy network may lose.
constexpr double kBackgroundLoss = 0.001;
// Gain in log-likelihood that a culprit must bring: more than one lost packet
// of three, less than two of one port. More for one of many ports, which
// otherwise swallows two that lie beside each other.
constexpr double kLeastGain = 7;
constexpr double kLeastGainOfMany = 14;
constexpr double kRivalGain = 3;  // ln(20).

bool IsOneWay(CulpritKind kind) {
  return kind == CulpritKind::kSends || kind == CulpritKind::kReceives ||
         kind == CulpritKind::kPathOneWay;
}

double GainOf(double lost, double sent) {
  if (lost == 0) return 0;
  const double share = lost / sent;
  double gain = lost * std::log(share / kBackgroundLoss);
  if (lost < sent) {
    gain += (sent - lost) * (std::log1p(-share) - std::log1p(-kBackgroundLoss));
  }
  return gain;
}

class Cover {
 public:
  Cover(const Unexplained& input, bool of_losses)
      : input_(input),
        space_(input.hypotheses),
        of_losses_(of_losses),
        begins_(space_.size() + 1),
        cost_(space_.size()),
        passed_(space_.size()),
        covered_by_(input.failures.size()) {}

  std::vector<Explanation> Run() {
    CountPassed();
    CollectCovers();
    if (of_losses_) {
      for (int h = 0; h < space_.size(); ++h) cost_[h] = !CoversOf(h).empty();
    } else {
      SetCosts();
    }
    Choose();
    DropSuperfluous();
    std::vector<Explanation> all;
    for (const auto& [hypothesis, loss] : chosen_) {
      Explanation& each = all.emplace_back();
      each.hypothesis = hypothesis;
      each.loss = loss;
      each.rivals = RivalsOf(hypothesis);
      for (int at : CoversOf(hypothesis)) {
        each.explains.push_back(input_.failures[at]);
      }
    }
    return all;
  }

 private:
  struct Offer {
    double worth;
    int news;
    int kind;  // Narrow ones first: negated.
    int hypothesis;
    friend bool operator<(const Offer& a, const Offer& b) {
      return std::tie(a.worth, a.news, a.kind, b.hypothesis) <
             std::tie(b.worth, b.news, b.kind, a.hypothesis);
    }
  };

  const ProbeResult& Failure(int at) const {
    return input_.results[input_.failures[at]];
  }
  absl::Span<const int> CoversOf(int hypothesis) const {
    const int begin = begins_[hypothesis];
    return absl::MakeConstSpan(covers_).subspan(
        begin, begins_[hypothesis + 1] - begin);
  }

  // By hypothesis: answered results, or for losses all packets.
  void CountPassed() {
    for (size_t i = 0; i < input_.results.size(); ++i) {
      const ProbeResult& result = input_.results[i];
      if (!input_.usable[i] || (!of_losses_ && HasFailed(result))) continue;
      const int count = of_losses_ ? result.sent : 1;
      space_.ForEach(result, [&](int h) { passed_[h] += count; });
    }
  }

  // The failures of each possible hypothesis, one list behind the other.
  void CollectCovers() {
    const auto for_each = [this](auto f) {
      for (size_t at = 0; at < input_.failures.size(); ++at) {
        space_.ForEach(Failure(at), [&](int h) {
          const bool is_possible =
              of_losses_ ||
              (passed_[h] == 0 && space_.KindOf(h) != CulpritKind::kLink);
          if (is_possible) f(h, static_cast<int>(at));
        });
      }
    };
    for_each([this](int h, int) { ++begins_[h + 1]; });
    for (int h = 0; h < space_.size(); ++h) begins_[h + 1] += begins_[h];
    covers_.resize(begins_.back());
    std::vector<int> next(begins_.begin(), begins_.end() - 1);
    for_each([&](int h, int at) { covers_[next[h]++] = at; });
  }

  // Failures whose pair was answered the other way. Only these can be one-way:
  // the other direction of a pair is mostly asked only where it failed.
  std::vector<bool> AnsweredOtherWay() const {
    absl::flat_hash_set<std::pair<int, int>> answered;
    std::vector<bool> has_failed(space_.ports());
    for (int at : input_.failures) has_failed[input_.results[at].from] = true;
    for (size_t i = 0; i < input_.results.size(); ++i) {
      const ProbeResult& result = input_.results[i];
      if (!input_.usable[i] || !has_failed[result.to]) continue;
      if (!HasFailed(result)) answered.insert({result.to, result.from});
    }
    std::vector<bool> other_way(input_.failures.size());
    for (size_t at = 0; at < other_way.size(); ++at) {
      other_way[at] = answered.contains({Failure(at).from, Failure(at).to});
    }
    return other_way;
  }

  // By scope: its ports with a failure.
  std::vector<int> FailedMembers() const {
    std::vector<bool> has_failed(space_.ports());
    std::vector<int> members(space_.size());
    for (int at : input_.failures) {
      for (int port : {input_.results[at].from, input_.results[at].to}) {
        if (has_failed[port]) continue;
        has_failed[port] = true;
        space_.ForEachScope(port, [&](int scope) { ++members[scope]; });
      }
    }
    return members;
  }

  // A cost of 0: the hypothesis is out of the question.
  void SetCosts() {
    const std::vector<int> failed = FailedMembers();
    const std::vector<bool> other_way = AnsweredOtherWay();
    for (int h = 0; h < space_.size(); ++h) {
      const absl::Span<const int> covers = CoversOf(h);
      if (covers.empty()) continue;
      const CulpritKind kind = space_.KindOf(h);
      if (IsOneWay(kind)) {
        const size_t answered =
            absl::c_count_if(covers, [&](int at) { return other_way[at]; });
        if (answered * 2 < covers.size()) continue;
      }
      if (kind <= CulpritKind::kReceives) {
        cost_[h] = 1;
        continue;
      }
      const int members = space_.MembersOf(h);
      // Two thirds of the members must have failed: logs have no successes.
      const bool is_enough = members > 0
                                 ? failed[h] * 3 >= members * 2
                                 : covers.size() >= kLeastFailuresOfPath;
      const double units = members > 0 ? members : covers.size();
      if (is_enough) cost_[h] = std::max(kLeastCostOfMany, std::sqrt(units));
    }
  }

  // What it would explain of what nothing explains yet; `loss` may be null.
  Offer OfferOf(int h, double* loss = nullptr) const {
    int news = 0;
    double lost = 0;
    double sent = passed_[h];
    for (int at : CoversOf(h)) {
      if (covered_by_[at] > 0) {
        sent -= Failure(at).sent;
      } else {
        ++news;
        lost += Failure(at).outcome == ProbeOutcome::kAnswered
                    ? Failure(at).lost
                    : Failure(at).sent;
      }
    }
    const CulpritKind kind = space_.KindOf(h);
    const bool is_narrow =
        kind <= CulpritKind::kReceives || kind == CulpritKind::kLink;
    if (of_losses_ && loss != nullptr) *loss = lost / sent;
    const double worth =
        of_losses_
            ? GainOf(lost, sent) - (is_narrow ? kLeastGain : kLeastGainOfMany)
            : news / cost_[h];
    return {worth, news, -static_cast<int>(kind), h};
  }

  void Choose() {
    std::priority_queue<Offer> offers;
    for (int h = 0; h < space_.size(); ++h) {
      if (cost_[h] > 0) offers.push(OfferOf(h));
    }
    while (!offers.empty()) {
      const Offer best = offers.top();
      offers.pop();
      // What it would explain may have been explained since it was offered.
      double loss = 1;
      const Offer now = OfferOf(best.hypothesis, &loss);
      if (now.news == 0 || now.worth <= 0) continue;
      if (now < best && !offers.empty() && now < offers.top()) {
        offers.push(now);
        continue;
      }
      chosen_.push_back({best.hypothesis, loss});
      for (int at : CoversOf(best.hypothesis)) ++covered_by_[at];
    }
  }

  void DropSuperfluous() {
    for (size_t i = chosen_.size(); i-- > 0;) {
      const absl::Span<const int> covers = CoversOf(chosen_[i].first);
      const bool is_needed = absl::c_any_of(
          covers, [this](int at) { return covered_by_[at] == 1; });
      if (is_needed) continue;
      for (int at : covers) --covered_by_[at];
      chosen_.erase(chosen_.begin() + i);
    }
  }

  // As good as `other`, and no part of it.
  bool IsRival(int hypothesis, int other) const {
    if (other == hypothesis || cost_[other] == 0) return false;
    if (AreKin(space_.IdOf(hypothesis), space_.IdOf(other))) return false;
    if (!of_losses_) return cost_[other] <= cost_[hypothesis];
    return OfferOf(other).worth >= OfferOf(hypothesis).worth - kRivalGain;
  }

  // Those that would explain what this one alone explains.
  std::vector<int> RivalsOf(int hypothesis) {
    std::vector<int> own;
    for (int at : CoversOf(hypothesis)) {
      if (covered_by_[at] == 1) own.push_back(at);
    }
    for (int at : own) covered_by_[at] = 0;
    std::vector<int> rivals;
    space_.ForEach(Failure(own[0]), [&](int h) {
      if (IsRival(hypothesis, h) && absl::c_includes(CoversOf(h), own)) {
        rivals.push_back(h);
      }
    });
    for (int at : own) covered_by_[at] = 1;
    absl::c_sort(rivals);
    return rivals;
  }

  const Unexplained& input_;
  const Hypotheses& space_;
  const bool of_losses_;
  std::vector<int> begins_;  // By hypothesis, into covers_; and the end.
  std::vector<int> covers_;  // Positions in input_.failures.
  std::vector<double> cost_;
  std::vector<int> passed_;
  std::vector<int> covered_by_;  // By failure: chosen ones that explain it.
  std::vector<std::pair<int, double>> chosen_;  // With their loss.
};

}  // namespace

std::vector<Explanation> ExplainFailures(const Unexplained& input) {
  if (input.failures.empty()) return {};
  return Cover(input, /*of_losses=*/false).Run();
}

std::vector<Explanation> ExplainLosses(const Unexplained& input) {
  if (input.failures.empty()) return {};
  return Cover(input, /*of_losses=*/true).Run();
}

}  // namespace clusterd
