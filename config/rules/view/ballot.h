// The value of most devices or hosts counts as right if the spec names none. On
// a tie, neither value is right.
#ifndef CONFIG_RULES_VIEW_BALLOT_H_
#define CONFIG_RULES_VIEW_BALLOT_H_

#include <cstddef>
#include <map>
#include <optional>
#include <tuple>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/string_view.h"
#include "config/rules/view/cluster_view.h"
#include "config/words/words.h"
#include "proto/finding.pb.h"

namespace clusterd {

// The numbers of those that have a value, and that plan it.
struct Votes {
  bool operator<(const Votes& other) const {
    return std::tie(live, planned) < std::tie(other.live, other.planned);
  }

  size_t live = 0;
  size_t planned = 0;
};

template <typename Value>
using Ballot = std::map<Value, Votes>;

// Among equals the one that more plan, then the lowest. REQUIRES: not empty.
template <typename Value>
Value MostCommon(const Ballot<Value>& ballot) {
  return absl::c_max_element(
             ballot,
             [](const auto& a, const auto& b) { return a.second < b.second; })
      ->first;
}

// The value that more have, or among equals more plan, than any other; nullopt:
// there is a tie, as of one against one, or no vote.
template <typename Value>
std::optional<Value> Majority(const Ballot<Value>& ballot) {
  if (ballot.empty()) return std::nullopt;
  const Value best = MostCommon(ballot);
  const Votes& most = ballot.at(best);
  const auto as_many = absl::c_count_if(
      ballot, [&most](const auto& each) { return !(each.second < most); });
  if (as_many > 1) return std::nullopt;
  return best;
}

// A setting without a majority, e.g. {WARN, "MTU", "host"}.
struct Tie {
  State state;  // The one of the rule's finding about a minority.
  absl::string_view what;
  absl::string_view unit;  // The owner of a value.
};

// The finding about those with `own`: it names all values and advises none.
// `show` makes a text, or words, of a value. Report is RuleReport.
template <typename Report, typename Value, typename Show>
auto TiedText(const Report& report, const Tie& tie, const Ballot<Value>& ballot,
              const Value& own, Show show) {
  constexpr size_t kMaxShownValues = 4;
  std::vector<FindingValue> others;
  for (const auto& [value, votes] : ballot) {
    if (value == own || votes.live == 0) continue;
    others.push_back(
        Worded("value-of", show(value), Counted(votes.live, tie.unit)));
  }
  auto text = report.Named("tied", Term(tie.what), show(own),
                           Counted(ballot.at(own).live, tie.unit));
  text.expects = Worded("no-majority", Listed(others, kMaxShownValues));
  text.state = tie.state;
  return text;
}

// Compares device i of all hosts with the value of most. Adds a tie if there is
// one, and calls differs(device, right, others) for each device with another
// value; `others` have the right one.
template <typename Value, typename Show, typename Report, typename Differs>
void CompareRails(const ClusterView& view, absl::string_view what,
                  Reading<Value> DeviceView::*live, Show show, Report& report,
                  Differs differs) {
  const auto is_known = [&](const DeviceView& device) {
    return (device.*live).has_value();
  };
  // Shortcut: in nearly every cluster all have the same value.
  const auto first = absl::c_find_if(view.devices(), is_known);
  const bool any_other = absl::c_any_of(view.devices(), [&](const auto& each) {
    return is_known(each) && *(each.*live) != *((*first).*live);
  });
  if (!any_other) return;
  std::map<uint32_t, Ballot<Value>> rails;
  for (const DeviceView& device : view.devices()) {
    if (is_known(device)) ++rails[device.id][*(device.*live)].live;
  }
  for (const DeviceView& device : view.devices()) {
    if (!is_known(device)) continue;
    const Value& own = *(device.*live);
    const Ballot<Value>& rail = rails[device.id];
    const std::optional<Value> right = Majority(rail);
    if (!right.has_value()) {
      report.Add(device,
                 TiedText(report, {WARN, what, "host"}, rail, own, show));
    } else if (own != *right) {
      differs(device, *right, rail.at(*right).live);
    }
  }
}

}  // namespace clusterd

#endif  // CONFIG_RULES_VIEW_BALLOT_H_
