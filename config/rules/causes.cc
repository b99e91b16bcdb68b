#include "config/rules/causes.h"

#include <algorithm>

#include "absl/algorithm/container.h"
#include "absl/strings/str_split.h"

namespace clusterd {

bool IsExplained(const Rule& rule, absl::string_view cause) {
  return absl::c_any_of(rule.findings, [&](const RuleFinding& finding) {
    if (cause.empty()) return !finding.explained_by.empty();
    const std::vector<absl::string_view> causes =
        absl::StrSplit(finding.explained_by, '/');
    return absl::c_linear_search(causes, cause);
  });
}

void Causes::Note(absl::string_view rule, absl::Span<const Place> places,
                  State state) {
  if (state == SKIPPED) return;
  Worst& worst = rules_[rule];
  for (const Place& place : places) {
    State& of_place = worst[KeyOf(place)];
    of_place = std::max(of_place, state);
  }
}

bool Causes::HasOneOf(absl::string_view rule, absl::Span<const Place> places,
                      State at_least) const {
  const auto worst = rules_.find(rule);
  if (worst == rules_.end()) return false;
  return absl::c_any_of(places, [&](const Place& place) {
    const auto found = worst->second.find(KeyOf(place));
    return found != worst->second.end() && found->second >= at_least;
  });
}

std::string Causes::Explaining(absl::string_view rule,
                               absl::string_view explained_by,
                               absl::Span<const Place> places, State state,
                               const Causes* as_planned) const {
  for (const absl::string_view cause :
       absl::StrSplit(explained_by, '/', absl::SkipEmpty())) {
    if (!HasOneOf(cause, places, state)) continue;
    if (cause == kPlannedAddressRule &&
        (as_planned == nullptr || as_planned->HasOneOf(rule, places, WARN))) {
      continue;
    }
    return std::string(cause);
  }
  return "";
}

}  // namespace clusterd
