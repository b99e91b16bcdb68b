#include "config/plan/waves.h"

#include <cstdint>
#include <map>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "config/values/change_kind.h"
#include "config/words/number_text.h"
#include "config/words/words.h"

namespace clusterd {
namespace {

using Hosts = std::vector<const HostPlan*>;

// The fewest hosts that have steps of all kinds. A set of kinds has a bit each.
Hosts FewestWithAllKinds(const ClusterPlan& plan) {
  std::map<uint32_t, Hosts> best = {{0, {}}};
  for (const HostPlan& host : plan.hosts()) {
    uint32_t kinds = 0;
    for (const PlanStep& step : host.steps()) kinds |= 1u << (step.kind() % 32);
    // An earlier host with the same kinds replaces this one.
    const auto known = best.find(kinds);
    if (known != best.end() && known->second.size() < 2) continue;
    for (auto& [before, hosts] : std::map<uint32_t, Hosts>(best)) {
      Hosts& fewest = best[before | kinds];
      if (!fewest.empty() && fewest.size() <= hosts.size() + 1) continue;
      fewest = hosts;
      fewest.push_back(&host);
    }
  }
  // The set of all kinds is the largest number.
  return best.rbegin()->second;
}

}  // namespace

Canary ChooseCanary(const ClusterPlan& plan, size_t wished, size_t wave_size) {
  Canary canary;
  const Hosts fewest = FewestWithAllKinds(plan);
  if (wished == 0 || fewest.empty()) return canary;
  canary.size = std::max(wished, std::min(fewest.size(), wave_size));
  for (const HostPlan* const host : fewest) canary.hosts.insert(host->host());
  for (const HostPlan& host : plan.hosts()) {
    if (canary.hosts.size() >= canary.size) break;
    if (!host.steps().empty()) canary.hosts.insert(host.host());
  }
  // Goes backwards, because the kinds of the first wave are erased last.
  std::set<std::string> missing;
  std::string names;  // "node07 (sysctl, tls), node09 (firewall)"
  for (size_t i = fewest.size(); i-- > 0;) {
    std::set<std::string> kinds;
    for (const PlanStep& step : fewest[i]->steps()) {
      kinds.insert(ChangeKindName(step.kind()));
    }
    if (i >= canary.size) {
      missing.insert(kinds.begin(), kinds.end());
      continue;
    }
    for (const std::string& kind : kinds) missing.erase(kind);
    names = absl::StrCat(fewest[i]->host(), " (", absl::StrJoin(kinds, ", "),
                         ")", Part(", ", names));
  }
  canary.why = missing.empty()
                   ? Worded("hub-canary-every", names)
                   : Worded("hub-canary-lacks", absl::StrJoin(missing, ", "),
                            names, fewest.size());
  if (canary.size > wished) {
    canary.why = Worded("hub-canary-wider", canary.why,
                        Counted(canary.size, "host"), wished);
  }
  return canary;
}

}  // namespace clusterd
