#include "config/probe/probe_sheet.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace clusterd {

ProbeSheet::ProbeSheet(const ProbeFabric& fabric, int most_pings)
    : fabric_(fabric), most_pings_(most_pings), load_(fabric.ports.size()) {}

bool ProbeSheet::Add(const ProbePair& pair) {
  std::optional<WhyNotProbed> why =
      WhyPairNotProbed(fabric_, pair.from, pair.to, pair.plane);
  if (!why.has_value() && load_[pair.from] >= most_pings_) {
    why = WhyNotProbed::kPingLimit;
  }
  if (why.has_value()) {
    plan_.skipped.push_back({pair.from, pair.to, pair.plane, *why});
    return false;
  }
  ++load_[pair.from];
  plan_.pairs.push_back(pair);
  return true;
}

void ProbeSheet::Skip(int port, ProbePlane plane, WhyNotProbed why) {
  plan_.skipped.push_back({port, kNoIndex, plane, why});
}

void ProbeSheet::SkipExcluded(ProbePlane plane) {
  for (size_t i = 0; i < fabric_.ports.size(); ++i) {
    const ProbePort& port = fabric_.ports[i];
    if (plane == ProbePlane::kHccs && port.super_pod == kNoIndex) continue;
    const std::optional<WhyNotProbed> why = WhyPortNotProbed(port, plane);
    if (why.has_value()) Skip(static_cast<int>(i), plane, *why);
  }
}

void ProbeSheet::SkipAlone(const PlaneIndex& index, ProbePlane plane) {
  std::vector<bool> seen(fabric_.ports.size());
  for (const ProbePair& pair : plan_.pairs) {
    if (pair.plane == plane) seen[pair.from] = seen[pair.to] = true;
  }
  for (const ProbeSkip& skip : plan_.skipped) {
    if (skip.plane != plane) continue;
    seen[skip.port] = true;
    if (skip.peer != kNoIndex) seen[skip.peer] = true;
  }
  for (int port : index.ports()) {
    if (!seen[port]) Skip(port, plane, WhyNotProbed::kAlone);
  }
}

ProbePlan ProbeSheet::Finish() && {
  ProbeCost& cost = plan_.cost;
  cost.probes = plan_.pairs.size();
  std::vector<int> sent(fabric_.ports.size());
  std::vector<bool> runs(fabric_.hosts.size());
  for (const ProbePair& pair : plan_.pairs) {
    cost.longest_chain =
        std::max<size_t>(cost.longest_chain, ++sent[pair.from]);
    const int host = fabric_.ports[pair.from].host;
    if (!runs[host]) ++cost.hosts;
    runs[host] = true;
  }
  const bool is_host =
      !plan_.pairs.empty() && plan_.pairs[0].plane == ProbePlane::kHost;
  for (const ProbePort& port : fabric_.ports) {
    const auto usable = [&](ProbePlane plane) {
      return !WhyPortNotProbed(port, plane).has_value();
    };
    if (is_host ? usable(ProbePlane::kHost)
                : usable(ProbePlane::kRoce) || usable(ProbePlane::kHccs)) {
      ++cost.ports;
    }
  }
  return std::move(plan_);
}

}  // namespace clusterd
