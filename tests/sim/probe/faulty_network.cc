#include "tests/sim/probe/faulty_network.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"

namespace clusterd {

ProbeFabric MakeFabric(const NetworkShape& shape) {
  ProbeFabric fabric;
  const int groups = std::max(1, shape.hosts / shape.leaf_hosts);
  const int leaves = groups * (shape.leaf_per_rail ? shape.rails : 1);
  for (int i = 0; i < leaves; ++i) {
    fabric.leaves.push_back(absl::StrCat("leaf", i));
  }
  fabric.hosts.reserve(shape.hosts);
  fabric.ports.reserve(shape.hosts * shape.rails);
  for (int host = 0; host < shape.hosts; ++host) {
    fabric.hosts.push_back(absl::StrCat("server", host));
    const int group = std::min(groups - 1, host / shape.leaf_hosts);
    for (int rail = 0; rail < shape.rails; ++rail) {
      ProbePort port;
      port.host = host;
      port.device = rail;
      port.rail = rail;
      port.leaf = shape.leaf_per_rail ? group * shape.rails + rail : group;
      port.address = Ipv4Address(0x0a000001u + host * shape.rails + rail);
      fabric.ports.push_back(port);
    }
  }
  return fabric;
}

const char* FaultName(FaultKind kind) {
  static constexpr const char* kNames[] = {
      "port",  "cable out", "cable in", "sends",     "receives",
      "host",  "leaf",      "uplinks",  "path",      "path one way",
      "flows", "rail mask", "5+1+1",    "gray port",
  };
  return kNames[static_cast<int>(kind)];
}

namespace {

bool IsPortFault(FaultKind kind) {
  return kind <= FaultKind::kReceives || kind == FaultKind::kGray;
}

}  // namespace

Fault FaultyNetwork::RandomFault(FaultKind kind) {
  Fault fault;
  fault.kind = kind;
  const int at = dice_.Below(fabric_.ports.size());
  const ProbePort& port = fabric_.ports[at];
  switch (kind) {
    case FaultKind::kSends:
      fault.id = {CulpritKind::kSends, at};
      break;
    case FaultKind::kReceives:
      fault.id = {CulpritKind::kReceives, at};
      break;
    case FaultKind::kHost:
      fault.id = {CulpritKind::kHost, port.host};
      break;
    case FaultKind::kLeaf:
      fault.id = {CulpritKind::kLeaf, port.leaf};
      break;
    case FaultKind::kUplinks:
      fault.id = {CulpritKind::kUplinks, port.leaf};
      break;
    case FaultKind::kRailMask:
      fault.id = {CulpritKind::kRailBetweenLeaves, kNoIndex, kNoIndex,
                  port.rail};
      break;
    case FaultKind::kPath:
    case FaultKind::kPathOneWay:
    case FaultKind::kFlows: {
      // The next leaf of the same rail, to which the plan has probes.
      std::vector<int> leaves;
      for (const ProbePort& other : fabric_.ports) {
        if (other.rail == port.rail) leaves.push_back(other.leaf);
      }
      absl::c_sort(leaves);
      leaves.erase(std::unique(leaves.begin(), leaves.end()), leaves.end());
      const int own = absl::c_lower_bound(leaves, port.leaf) - leaves.begin();
      const int next = leaves[(own + 1 + dice_.Below(2)) % leaves.size()];
      if (kind == FaultKind::kPathOneWay) {
        fault.id = {CulpritKind::kPathOneWay, port.leaf, next};
      } else {
        fault.id = {CulpritKind::kPath, std::min(port.leaf, next),
                    std::max(port.leaf, next)};
      }
      break;
    }
    default:
      fault.id = {CulpritKind::kPort, at};
  }
  if (kind == FaultKind::kGray) fault.loss = dice_.Between(40, 70) / 100.0;
  return fault;
}

bool FaultyNetwork::IsApart(const Fault& fault) const {
  const auto ports_of = [this](const Fault& each) {
    std::vector<int> ports;
    for (size_t i = 0; i < fabric_.ports.size(); ++i) {
      const ProbePort& port = fabric_.ports[i];
      const CulpritId& id = each.id;
      const int leaf = port.leaf;
      bool is_in = false;
      if (IsPortFault(each.kind))
        is_in = id.a == static_cast<int>(i);
      else if (each.kind == FaultKind::kHost)
        is_in = id.a == port.host;
      else if (each.kind == FaultKind::kRailMask)
        is_in = id.rail == port.rail;
      else
        is_in = id.a == leaf || id.b == leaf;
      if (is_in) ports.push_back(static_cast<int>(i));
    }
    return ports;
  };
  const std::vector<int> own = ports_of(fault);
  for (const Fault& other : faults_) {
    const std::vector<int> theirs = ports_of(other);
    std::vector<int> both;
    absl::c_set_intersection(own, theirs, std::back_inserter(both));
    if (!both.empty()) return false;
  }
  return true;
}

void FaultyNetwork::AddRandom(FaultKind kind) {
  constexpr int kMostTries = 200;
  if (kind == FaultKind::kFivePlusTwo) {
    // Any leaf of a rail: all five are under the leaf of the first.
    AddRandom(FaultKind::kPort);
    const ProbePort first = fabric_.ports[faults_.back().id.a];
    int near = 1;
    for (int tries = 0; tries < 100 * kMostTries && near < 5; ++tries) {
      const Fault fault = RandomFault(FaultKind::kPort);
      const ProbePort& port = fabric_.ports[fault.id.a];
      if (port.leaf != first.leaf || port.rail != first.rail) continue;
      if (!IsApart(fault)) continue;
      Add(fault);
      ++near;
    }
    AddRandom(FaultKind::kPort);
    AddRandom(FaultKind::kPort);
    return;
  }
  for (int tries = 0; tries < kMostTries; ++tries) {
    const Fault fault = RandomFault(kind);
    if (!IsApart(fault)) continue;
    Add(fault);
    return;
  }
}

bool FaultyNetwork::Concerns(const Fault& fault, const ProbePair& pair) const {
  const ProbePort& from = fabric_.ports[pair.from];
  const ProbePort& to = fabric_.ports[pair.to];
  const CulpritId& id = fault.id;
  const bool crosses = from.leaf != to.leaf;
  const bool forward = from.leaf == id.a && to.leaf == id.b;
  const bool backward = from.leaf == id.b && to.leaf == id.a;
  switch (fault.kind) {
    case FaultKind::kPort:
    case FaultKind::kCableOut:
    case FaultKind::kCableIn:
    case FaultKind::kGray:
      return pair.from == id.a || pair.to == id.a;
    case FaultKind::kSends:
      return pair.from == id.a;
    case FaultKind::kReceives:
      return pair.to == id.a;
    case FaultKind::kHost:
      return from.host == id.a || to.host == id.a;
    case FaultKind::kLeaf:
      return from.leaf == id.a || to.leaf == id.a;
    case FaultKind::kUplinks:
      return crosses && (from.leaf == id.a || to.leaf == id.a);
    case FaultKind::kPath:
      return forward || backward;
    case FaultKind::kPathOneWay:
      return forward;
    case FaultKind::kFlows: {
      // The hash of a switch over both addresses, without direction.
      const uint64_t low = std::min(pair.from, pair.to);
      const uint64_t high = std::max(pair.from, pair.to);
      const uint64_t hash =
          (low * 0x9e3779b97f4a7c15u ^ high * 0xc2b2ae3d27d4eb4fu) >> 33;
      return (forward || backward) && hash % 2 == 0;
    }
    case FaultKind::kRailMask:
      return crosses && (from.rail == id.rail || to.rail == id.rail);
    case FaultKind::kFivePlusTwo:
      break;
  }
  return false;
}

ProbeResult FaultyNetwork::Answer(const ProbePair& pair) {
  ProbeResult result;
  result.from = pair.from;
  result.to = pair.to;
  result.plane = pair.plane;
  for (int packet = 0; packet < result.sent; ++packet) {
    const bool is_lost = absl::c_any_of(faults_, [&](const Fault& fault) {
      return Concerns(fault, pair) &&
             (fault.loss >= 1 || dice_.Happens(fault.loss));
    });
    result.lost += is_lost;
  }
  return result;
}

void FaultyNetwork::Run(const ProbePlan& plan,
                        std::vector<ProbeResult>* results) {
  results->reserve(results->size() + plan.pairs.size());
  for (const ProbePair& pair : plan.pairs) results->push_back(Answer(pair));
}

std::vector<ProbeResult> ProbeAll(const ProbeFabric& fabric,
                                  FaultyNetwork* network) {
  std::vector<ProbeResult> results;
  network->Run(PlanDeviceProbes(fabric), &results);
  network->Run(PlanWitnesses(fabric, results), &results);
  return results;
}

}  // namespace clusterd
