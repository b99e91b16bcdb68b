#include "config/plan/canary.h"

#include <algorithm>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "config/values/change_kind.h"
#include "config/words/number_text.h"

namespace clusterd {
namespace {

using Kinds = std::set<ChangeKind>;
using Hosts = std::vector<const HostPlan*>;

Kinds KindsOf(const HostPlan& host) {
  Kinds kinds;
  for (const PlanStep& step : host.steps()) kinds.insert(step.kind());
  return kinds;
}

// The fewest hosts that have all kinds together. There are few kinds, so few
// different sets of them: the best hosts for each one that can be reached.
Hosts FewestWithAllKinds(const ClusterPlan& plan) {
  std::set<Kinds> seen;
  Hosts different;  // The first with exactly these kinds.
  Kinds all;
  for (const HostPlan& host : plan.hosts()) {
    const Kinds kinds = KindsOf(host);
    if (kinds.empty() || !seen.insert(kinds).second) continue;
    different.push_back(&host);
    all.insert(kinds.begin(), kinds.end());
  }
  std::map<Kinds, Hosts> best = {{Kinds(), Hosts()}};
  for (const HostPlan* const host : different) {
    const Kinds kinds = KindsOf(*host);
    for (const auto& [before, fewest] : std::map<Kinds, Hosts>(best)) {
      Kinds reached = before;
      Hosts hosts = fewest;
      reached.insert(kinds.begin(), kinds.end());
      hosts.push_back(host);
      const auto known = best.find(reached);
      if (known == best.end() || hosts.size() < known->second.size()) {
        best[reached] = std::move(hosts);
      }
    }
  }
  return best[all];
}

// "node07 (sysctl, tls)".
void AppendHost(std::string* out, const HostPlan* host) {
  absl::StrAppend(out, host->host(), " (",
                  absl::StrJoin(KindsOf(*host), ", ",
                                [](std::string* text, ChangeKind kind) {
                                  absl::StrAppend(text, ChangeKindName(kind));
                                }),
                  ")");
}

}  // namespace

Canary ChooseCanary(const ClusterPlan& plan, size_t wished, size_t wave_size) {
  Canary canary;
  if (wished == 0) return canary;
  const Hosts fewest = FewestWithAllKinds(plan);
  canary.size = std::max(wished, std::min(fewest.size(), wave_size));
  for (const HostPlan* const host : fewest) canary.hosts.insert(host->host());
  for (const HostPlan& host : plan.hosts()) {
    if (canary.hosts.size() >= canary.size) break;
    if (!host.steps().empty()) canary.hosts.insert(host.host());
  }
  if (fewest.empty()) return canary;
  canary.why = absl::StrCat(
      "canary: ", absl::StrJoin(fewest, ", ", AppendHost),
      fewest.size() == 1 ? " has" : " have",
      " a step of every kind in the plan",
      canary.size > wished
          ? absl::StrCat("; the first wave has ", Count(canary.size, "host"),
                         " in place of ", wished, ", because fewer do not")
          : "");
  return canary;
}

std::vector<std::string> AskedInOrder(const ClusterPlan& plan,
                                      const Canary& canary) {
  std::vector<std::string> order;
  for (const HostPlan& host : plan.hosts()) {
    if (!host.steps().empty()) order.push_back(host.host());
  }
  std::stable_partition(order.begin(), order.end(),
                        [&canary](const std::string& host) {
                          return canary.hosts.count(host) > 0;
                        });
  return order;
}

}  // namespace clusterd
