#include "config/probe/failure_cover.h"

#include <algorithm>
#include <cmath>
#include <queue>
#include <tuple>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_set.h"

namespace clusterd {
namespace {

constexpr double kLeastCostOfMany = 1.5;
constexpr double kHintedCost = 0.99;
// As many probes make a path or an uplink; fewer may be links.
constexpr int kLeastFailuresOfPath = 3;

class FailureCover {
 public:
  explicit FailureCover(const CoverInput& input)
      : input_(input),
        space_(input.hypotheses),
        begins_(space_.size() + 1),
        cost_(space_.size()),
        covered_by_(input.failures.size()) {}

  std::vector<Explanation> Run() {
    CollectCovers();
    SetCosts();
    Choose();
    DropSuperfluous();
    std::vector<Explanation> all;
    for (int hypothesis : chosen_) {
      const absl::Span<const int> covers = CoversOf(hypothesis);
      all.push_back(
          {hypothesis, {covers.begin(), covers.end()}, RivalsOf(hypothesis)});
    }
    return all;
  }

 private:
  struct Offer {
    double ratio;
    int kind;  // Higher first: negated.
    int hypothesis;
    int news;
    friend bool operator<(const Offer& a, const Offer& b) {
      return std::tie(a.ratio, a.news, a.kind, b.hypothesis) <
             std::tie(b.ratio, b.news, b.kind, a.hypothesis);
    }
  };

  const ProbeResult& Failure(int at) const {
    return input_.results[input_.failures[at]];
  }
  bool IsPossible(int hypothesis) const {
    return input_.answered[hypothesis] == 0 &&
           space_.KindOf(hypothesis) != CulpritKind::kLink;
  }
  absl::Span<const int> CoversOf(int hypothesis) const {
    const int begin = begins_[hypothesis];
    return absl::MakeConstSpan(covers_).subspan(
        begin, begins_[hypothesis + 1] - begin);
  }

  // The failures of each possible hypothesis, one list behind the other.
  void CollectCovers() {
    std::vector<bool> possible(space_.size());
    for (int h = 0; h < space_.size(); ++h) possible[h] = IsPossible(h);
    const int failures = static_cast<int>(input_.failures.size());
    for (int at = 0; at < failures; ++at) {
      space_.ForEach(Failure(at), [&](int h) {
        if (possible[h]) ++begins_[h + 1];
      });
    }
    for (int h = 0; h < space_.size(); ++h) begins_[h + 1] += begins_[h];
    covers_.resize(begins_.back());
    std::vector<int> next(begins_.begin(), begins_.end() - 1);
    for (int at = 0; at < failures; ++at) {
      space_.ForEach(Failure(at), [&](int h) {
        if (possible[h]) covers_[next[h]++] = at;
      });
    }
  }

  // Failures whose pair was answered the other way. Only these can be one-way:
  // the other direction of a pair is mostly asked only where it failed.
  std::vector<bool> FindOneWay() const {
    absl::flat_hash_set<std::pair<int, int>> answered;
    std::vector<bool> has_failed(space_.ports());
    for (int at : input_.failures) has_failed[input_.results[at].from] = true;
    for (const ProbeResult& result : input_.results) {
      if (has_failed[result.to] && !HasFailed(result) && IsEvidence(result)) {
        answered.insert({result.to, result.from});
      }
    }
    std::vector<bool> one_way(input_.failures.size());
    for (size_t at = 0; at < one_way.size(); ++at) {
      one_way[at] = answered.contains({Failure(at).from, Failure(at).to});
    }
    return one_way;
  }
  bool IsOneWay(absl::Span<const int> covers,
                const std::vector<bool>& one_way) const {
    const size_t count =
        absl::c_count_if(covers, [&](int at) { return one_way[at]; });
    return count * 2 >= covers.size();
  }

  // By scope: its ports with a failure.
  std::vector<int> FailedMembers() const {
    std::vector<bool> has_failed(space_.ports());
    std::vector<int> members(space_.size());
    const auto add = [&](int port) {
      if (has_failed[port]) return;
      has_failed[port] = true;
      space_.ForEachScope(port, [&](int scope) { ++members[scope]; });
    };
    for (int at : input_.failures) {
      add(input_.results[at].from);
      add(input_.results[at].to);
    }
    return members;
  }

  // 0: no hypothesis.
  void SetCosts() {
    const std::vector<int> failed = FailedMembers();
    const std::vector<bool> one_way = FindOneWay();
    for (int h = 0; h < space_.size(); ++h) {
      const int covers = static_cast<int>(CoversOf(h).size());
      if (covers == 0) continue;
      const CulpritKind kind = space_.KindOf(h);
      const bool has_way = kind == CulpritKind::kSends ||
                           kind == CulpritKind::kReceives ||
                           kind == CulpritKind::kPathOneWay;
      if (has_way && !IsOneWay(CoversOf(h), one_way)) continue;
      if (kind <= CulpritKind::kReceives) {
        const bool is_hinted = kind == CulpritKind::kPort &&
                               absl::c_binary_search(input_.hinted, h);
        cost_[h] = is_hinted ? kHintedCost : 1;
        continue;
      }
      const int members = space_.MembersOf(h);
      // Two thirds of the members must have failed: logs have no successes.
      const bool is_enough = members > 0 ? failed[h] * 3 >= members * 2
                                         : covers >= kLeastFailuresOfPath;
      if (!is_enough) continue;
      const int units = members > 0 ? members : covers;
      cost_[h] = std::max(kLeastCostOfMany, std::sqrt(units));
    }
  }

  Offer OfferOf(int h) const {
    int news = 0;
    for (int at : CoversOf(h)) news += covered_by_[at] == 0;
    return {news / cost_[h], -static_cast<int>(space_.KindOf(h)), h, news};
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
      const Offer now = OfferOf(best.hypothesis);
      if (now.news == 0) continue;
      if (now < best && !offers.empty() && now < offers.top()) {
        offers.push(now);
        continue;
      }
      chosen_.push_back(best.hypothesis);
      for (int at : CoversOf(best.hypothesis)) ++covered_by_[at];
    }
  }

  void DropSuperfluous() {
    for (size_t i = chosen_.size(); i-- > 0;) {
      const absl::Span<const int> covers = CoversOf(chosen_[i]);
      if (absl::c_any_of(covers,
                         [this](int at) { return covered_by_[at] == 1; })) {
        continue;
      }
      for (int at : covers) --covered_by_[at];
      chosen_.erase(chosen_.begin() + i);
    }
  }

  // Those of no higher cost that would explain what this one alone explains.
  std::vector<int> RivalsOf(int hypothesis) const {
    std::vector<int> own;
    for (int at : CoversOf(hypothesis)) {
      if (covered_by_[at] == 1) own.push_back(at);
    }
    const CulpritId id = space_.IdOf(hypothesis);
    std::vector<int> rivals;
    space_.ForEach(Failure(own[0]), [&](int h) {
      if (h == hypothesis || cost_[h] == 0) return;
      if (cost_[h] > cost_[hypothesis] / kHintedCost) return;
      if (AreKin(id, space_.IdOf(h))) return;
      const absl::Span<const int> covers = CoversOf(h);
      if (covers.size() < own.size()) return;
      if (absl::c_includes(covers, own)) rivals.push_back(h);
    });
    absl::c_sort(rivals);
    return rivals;
  }

  const CoverInput& input_;
  const Hypotheses& space_;
  std::vector<int> begins_;  // By hypothesis, into covers_; and the end.
  std::vector<int> covers_;
  std::vector<double> cost_;
  std::vector<int> covered_by_;  // By failure: chosen ones that explain it.
  std::vector<int> chosen_;
};

}  // namespace

std::vector<Explanation> CoverFailures(const CoverInput& input) {
  if (input.failures.empty()) return {};
  return FailureCover(input).Run();
}

}  // namespace clusterd
