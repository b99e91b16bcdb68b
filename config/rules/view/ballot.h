// What most devices have counts as right where the spec does not say what is.
#ifndef CONFIG_RULES_VIEW_BALLOT_H_
#define CONFIG_RULES_VIEW_BALLOT_H_

#include <algorithm>
#include <cstddef>
#include <map>
#include <tuple>

namespace clusterd {

// How many devices have a value, and how many plan it.
struct Votes {
  size_t live = 0;
  size_t planned = 0;
  size_t order = 0;  // When it was first seen, where that matters.

  bool operator<(const Votes& other) const {
    return std::make_tuple(live, planned, other.order) <
           std::make_tuple(other.live, other.planned, order);
  }
};

template <typename Value>
using Ballot = std::map<Value, Votes>;

// One more device has the value; which was first seen matters.
template <typename Value>
void VoteInTurn(const Value& value, Ballot<Value>* ballot) {
  Votes& votes = (*ballot)[value];
  if (votes.live++ == 0) votes.order = ballot->size();
}

// Of equals the one that more devices plan, then the one seen first, then the
// lowest. REQUIRES: not empty.
template <typename Value>
Value MostCommon(const Ballot<Value>& ballot) {
  return std::max_element(
             ballot.begin(), ballot.end(),
             [](const auto& a, const auto& b) { return a.second < b.second; })
      ->first;
}

}  // namespace clusterd

#endif  // CONFIG_RULES_VIEW_BALLOT_H_
