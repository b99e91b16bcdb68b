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

int CausesBefore(const Rule& rule) {
  int before = 0;
  for (const Rule& other : RuleCatalogue()) {
    if (IsExplained(rule, other.name)) {
      before = std::max(before, 1 + CausesBefore(other));
    }
  }
  return before;
}

Causes::Causes() {
  for (const Rule& rule : RuleCatalogue()) rules_[rule.name];
}

void Causes::Note(absl::string_view rule, absl::Span<const Place> places,
                  State state) {
  if (state == SKIPPED) return;
  Worst& worst = rules_.at(rule);
  for (const Place& place : places) {
    State& of_place = worst[KeyOf(place)];
    of_place = std::max(of_place, state);
    State& of_host = worst[KeyOf({place.host_order}) | kAnyDevice];
    of_host = std::max(of_host, state);
  }
}

bool Causes::HasAt(absl::string_view rule, const Place& place) const {
  const Worst& worst = rules_.at(rule);
  const uint64_t host = KeyOf({place.host_order});
  if (!place.device.has_value()) return worst.contains(host | kAnyDevice);
  return worst.contains(host) || worst.contains(KeyOf(place));
}

bool Causes::HasOneOf(absl::string_view rule, absl::Span<const Place> places,
                      State at_least) const {
  const Worst& worst = rules_.at(rule);
  return absl::c_any_of(places, [&](const Place& place) {
    const auto found = worst.find(KeyOf(place));
    return found != worst.end() && found->second >= at_least;
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
