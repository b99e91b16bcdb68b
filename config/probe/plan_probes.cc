#include "config/probe/plan_probes.h"

#include <algorithm>
#include <map>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "config/probe/probe_sheet.h"

namespace clusterd {
namespace {

// The offsets of a circulant graph of degree 2.
constexpr int kCircleSteps[] = {1, 2};

// Stage 1: each port to the next two of the ring, no pair twice.
void AddCircle(absl::Span<const int> ports, ProbePlane plane,
               ProbeSheet* sheet) {
  const int size = static_cast<int>(ports.size());
  for (int step : kCircleSteps) {
    if (step >= size) break;
    for (int i = 0; i < size; ++i) {
      sheet->Add({ports[i], ports[(i + step) % size], plane, 1});
    }
  }
}

// Stage 2: `leaf_pairs` ports of one leaf to as many of another. `turn` moves
// on through the leaf's ports, so that they take turns.
void AddBetween(absl::Span<const int> from, absl::Span<const int> to,
                int leaf_pairs, int* turn, ProbeSheet* sheet) {
  const int pairs = std::min(leaf_pairs, static_cast<int>(from.size()));
  for (int i = 0; i < pairs; ++i) {
    const int at = (*turn)++;
    sheet->Add(
        {from[at % from.size()], to[at % to.size()], ProbePlane::kRoce, 2});
  }
}

using Groups = std::vector<absl::Span<const int>>;

void AddLeaves(const Groups& leaves, int leaf_pairs, ProbeSheet* sheet) {
  for (absl::Span<const int> leaf : leaves) {
    AddCircle(leaf, ProbePlane::kRoce, sheet);
  }
  const int count = static_cast<int>(leaves.size());
  for (int i = 0; i < count; ++i) {
    int turn = i;
    for (int step : kCircleSteps) {
      if (step >= count) break;
      AddBetween(leaves[i], leaves[(i + step) % count], leaf_pairs, &turn,
                 sheet);
    }
  }
}

// Each port of a super pod to two of the next: pods of a ring, over RoCE.
void AddPods(const Groups& pods, ProbeSheet* sheet) {
  const size_t count = pods.size();
  if (count < 2) return;
  for (size_t p = 0; p < count; ++p) {
    const absl::Span<const int> next = pods[(p + 1) % count];
    // The last pod of two goes back to the first, to pairs not yet there.
    const size_t shift = p + 1 == count ? 1 : 0;
    for (size_t step = 0; step < std::min<size_t>(2, next.size()); ++step) {
      for (size_t i = 0; i < pods[p].size(); ++i) {
        sheet->Add({pods[p][i], next[(i + step + shift) % next.size()],
                    ProbePlane::kRoce, 1});
      }
    }
  }
}

// A cable between two ports without a switch: once in each direction.
void AddDirect(const ProbeFabric& fabric, absl::Span<const int> ports,
               const PlaneIndex& index, ProbeSheet* sheet) {
  for (int port : ports) {
    const int peer = fabric.ports[port].direct_peer;
    if (index.DomainOf(peer) == kNoIndex) continue;  // Skipped, with its cause.
    sheet->Add({port, peer, ProbePlane::kRoce, 1});
  }
}

// The RoCE ports of one rail, by how they are cabled.
struct Rail {
  std::vector<int> direct;
  std::vector<std::vector<int>> leaves;
  std::map<int, std::vector<int>> pods;
};

Groups GroupsOf(const std::vector<std::vector<int>>& lists) {
  Groups groups;
  for (const std::vector<int>& list : lists) {
    if (!list.empty()) groups.push_back(list);
  }
  return groups;
}

void PlanRail(const ProbeFabric& fabric, const PlaneIndex& index,
              const Rail& rail, int leaf_pairs, ProbeSheet* sheet) {
  AddDirect(fabric, rail.direct, index, sheet);
  AddLeaves(GroupsOf(rail.leaves), leaf_pairs, sheet);
  Groups pods;
  for (const auto& [pod, ports] : rail.pods) pods.push_back(ports);
  AddPods(pods, sheet);
  if (pods.size() != 1) return;
  for (int port : pods[0]) {
    sheet->Skip(port, ProbePlane::kRoce, WhyNotProbed::kInsideSuperPod);
  }
}

void PlanRoce(const ProbeFabric& fabric, const PlaneIndex& index,
              int leaf_pairs, ProbeSheet* sheet) {
  const std::vector<PlaneIndex::Domain>& domains = index.domains();
  for (size_t d = 0; d < domains.size();) {
    Rail rail;
    const int number = domains[d].rail;
    for (; d < domains.size() && domains[d].rail == number; ++d) {
      std::vector<int>& leaf = rail.leaves.emplace_back();
      leaf.reserve(domains[d].size());
      for (int port : index.PortsOf(domains[d])) {
        const ProbePort& facts = fabric.ports[port];
        if (facts.direct_peer != kNoIndex) {
          rail.direct.push_back(port);
        } else if (facts.super_pod != kNoIndex &&
                   !fabric.roce_inside_super_pods) {
          rail.pods[facts.super_pod].push_back(port);
        } else {
          leaf.push_back(port);
        }
      }
    }
    PlanRail(fabric, index, rail, leaf_pairs, sheet);
  }
}

}  // namespace

ProbePlan PlanDeviceProbes(const ProbeFabric& fabric,
                           const ProbeOptions& options) {
  ProbeSheet sheet(fabric, options.most_pings);
  const PlaneIndex roce(fabric, ProbePlane::kRoce);
  sheet.SkipExcluded(ProbePlane::kRoce);
  PlanRoce(fabric, roce, std::max(1, options.leaf_pairs), &sheet);
  sheet.SkipAlone(roce, ProbePlane::kRoce);
  const bool has_pods = absl::c_any_of(fabric.ports, [](const ProbePort& port) {
    return port.super_pod != kNoIndex;
  });
  if (has_pods) {
    const PlaneIndex hccs(fabric, ProbePlane::kHccs);
    sheet.SkipExcluded(ProbePlane::kHccs);
    for (const PlaneIndex::Domain& domain : hccs.domains()) {
      AddCircle(hccs.PortsOf(domain), ProbePlane::kHccs, &sheet);
    }
    sheet.SkipAlone(hccs, ProbePlane::kHccs);
  }
  ProbePlan plan = std::move(sheet).Finish();
  plan.unknown_leaf_ports = roce.unknown_leaf_ports();
  return plan;
}

ProbePlan PlanHostDials(const ProbeFabric& hosts, int root) {
  ProbeSheet sheet(hosts, static_cast<int>(hosts.ports.size()));
  const PlaneIndex index(hosts, ProbePlane::kHost);
  sheet.SkipExcluded(ProbePlane::kHost);
  std::vector<int> others;
  others.reserve(index.ports().size());
  const bool root_listens = index.DomainOf(root) != kNoIndex;
  for (int port : index.ports()) {
    if (port == root) continue;
    others.push_back(port);
    if (root_listens) sheet.Add({port, root, ProbePlane::kHost, 1});
  }
  AddCircle(others, ProbePlane::kHost, &sheet);
  // The root, too, shall have dialled two.
  for (size_t i = 0; root_listens && i < std::min<size_t>(2, others.size());
       ++i) {
    sheet.Add({root, others[i], ProbePlane::kHost, 1});
  }
  sheet.SkipAlone(index, ProbePlane::kHost);
  return std::move(sheet).Finish();
}

std::string CostText(const ProbePlan& plan) {
  std::string text = absl::StrFormat(
      "%d probes, %.1f a port, at most %d in a row at one port, by %d hosts",
      plan.cost.probes, plan.cost.Average(), plan.cost.longest_chain,
      plan.cost.hosts);
  std::map<WhyNotProbed, size_t> reasons;
  for (const ProbeSkip& skip : plan.skipped) ++reasons[skip.why];
  if (!reasons.empty()) {
    absl::StrAppend(
        &text, "; skipped: ",
        absl::StrJoin(reasons, ", ", [](std::string* out, const auto& reason) {
          absl::StrAppend(out, WhyNotProbedName(reason.first), " ",
                          reason.second);
        }));
  }
  if (plan.unknown_leaf_ports > 0) {
    absl::StrAppend(&text, "; leaf unknown at ", plan.unknown_leaf_ports,
                    " ports, taken as one leaf per rail");
  }
  return text;
}

}  // namespace clusterd
