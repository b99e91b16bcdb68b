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

using Groups = std::vector<std::vector<int>>;

// Stage 1 under each leaf, and stage 2: `leaf_pairs` ports, which take turns,
// of each leaf to the next two leaves.
void AddLeaves(const Groups& leaves, int leaf_pairs, ProbeSheet* sheet) {
  const int count = static_cast<int>(leaves.size());
  for (int i = 0; i < count; ++i) {
    const std::vector<int>& leaf = leaves[i];
    AddCircle(leaf, ProbePlane::kRoce, sheet);
    const int pairs = std::min(leaf_pairs, static_cast<int>(leaf.size()));
    int turn = i;
    for (int step : kCircleSteps) {
      if (step >= count) break;
      const std::vector<int>& next = leaves[(i + step) % count];
      for (int end = turn + pairs; turn < end; ++turn) {
        sheet->Add({leaf[turn % leaf.size()], next[turn % next.size()],
                    ProbePlane::kRoce, 2});
      }
    }
  }
}

// Each port of a super pod to two of the next: pods of a ring, over RoCE.
void AddPods(const Groups& pods, ProbeSheet* sheet) {
  const size_t count = pods.size();
  for (size_t p = 0; p < count; ++p) {
    const std::vector<int>& next = pods[(p + 1) % count];
    // The last pod of two goes back to the first, to pairs not yet there.
    const size_t shift = p + 1 == count ? 1 : 0;
    const size_t steps = std::min<size_t>(2, next.size());
    for (size_t i = 0; i < pods[p].size(); ++i) {
      const int port = pods[p][i];
      if (count == 1) {
        sheet->Skip(port, ProbePlane::kRoce, WhyNotProbed::kInsideSuperPod);
        continue;
      }
      for (size_t step = 0; step < steps; ++step) {
        const int peer = next[(i + step + shift) % next.size()];
        sheet->Add({port, peer, ProbePlane::kRoce, 1});
      }
    }
  }
}

void PlanRail(const ProbeFabric& fabric, const PlaneIndex& index,
              absl::Span<const PlaneIndex::Domain> domains, int leaf_pairs,
              ProbeSheet* sheet) {
  Groups leaves;
  std::map<int, std::vector<int>> pods;
  for (const PlaneIndex::Domain& domain : domains) {
    std::vector<int> leaf;
    leaf.reserve(domain.size());
    for (int port : index.PortsOf(domain)) {
      const ProbePort& facts = fabric.ports[port];
      if (facts.direct_peer != kNoIndex) {
        // An excluded peer is noted with its own cause.
        if (index.DomainOf(facts.direct_peer) == kNoIndex) continue;
        sheet->Add({port, facts.direct_peer, ProbePlane::kRoce, 1});
      } else if (facts.super_pod != kNoIndex &&
                 !fabric.roce_inside_super_pods) {
        pods[facts.super_pod].push_back(port);
      } else {
        leaf.push_back(port);
      }
    }
    if (!leaf.empty()) leaves.push_back(std::move(leaf));
  }
  AddLeaves(leaves, leaf_pairs, sheet);
  Groups rings;
  for (auto& [pod, ports] : pods) rings.push_back(std::move(ports));
  AddPods(rings, sheet);
}

void PlanRoce(const ProbeFabric& fabric, const PlaneIndex& index,
              int leaf_pairs, ProbeSheet* sheet) {
  const absl::Span<const PlaneIndex::Domain> domains = index.domains();
  for (size_t begin = 0, end = 0; begin < domains.size(); begin = end) {
    const int rail = domains[begin].rail;
    while (end < domains.size() && domains[end].rail == rail) ++end;
    PlanRail(fabric, index, domains.subspan(begin, end - begin), leaf_pairs,
             sheet);
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
