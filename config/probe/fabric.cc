#include "config/probe/fabric.h"

#include <algorithm>
#include <utility>

#include "absl/algorithm/container.h"

namespace clusterd {

absl::string_view WhyNotProbedName(WhyNotProbed why) {
  static constexpr absl::string_view kNames[] = {
      "port down",
      "no address",
      "TLS differs",
      "in use by a job",
      "host silent",
      "alone in its rail",
      "inside one super pod",
      "dies of one card",
      "direct cable to another device id",
      "same address at both ends",
      "limit of pings reached",
      "fewer than two good witnesses",
      "another port stands for its leaf",
  };
  return kNames[static_cast<int>(why)];
}

bool IsKnownCause(WhyNotProbed why) { return why < WhyNotProbed::kAlone; }

ProbeFabric MakeHostFabric(std::vector<std::string> hosts,
                           absl::Span<const Ipv4Address> addresses) {
  ProbeFabric fabric;
  fabric.hosts = std::move(hosts);
  fabric.ports.resize(fabric.hosts.size());
  for (size_t i = 0; i < fabric.ports.size(); ++i) {
    fabric.ports[i].host = static_cast<int>(i);
    fabric.ports[i].is_host = true;
    fabric.ports[i].address = addresses[i];
  }
  return fabric;
}

std::optional<WhyNotProbed> WhyPortNotProbed(const ProbePort& port,
                                             ProbePlane plane) {
  if (plane != ProbePlane::kHccs) {
    if (port.excluded.has_value()) return port.excluded;
    if (port.address.IsUnset()) return WhyNotProbed::kNoAddress;
    return std::nullopt;
  }
  // The RoCE port may be down, or have no address, while HCCS works.
  if (port.excluded.has_value() && *port.excluded != WhyNotProbed::kPortDown &&
      *port.excluded != WhyNotProbed::kNoAddress) {
    return port.excluded;
  }
  if (port.super_pod == kNoIndex || port.vnic.IsUnset()) {
    return WhyNotProbed::kNoAddress;
  }
  return std::nullopt;
}

std::optional<WhyNotProbed> WhyPairNotProbed(const ProbeFabric& fabric, int a,
                                             int b, ProbePlane plane) {
  const ProbePort& one = fabric.ports[a];
  const ProbePort& other = fabric.ports[b];
  const bool is_hccs = plane == ProbePlane::kHccs;
  if (is_hccs ? one.vnic == other.vnic : one.address == other.address) {
    return WhyNotProbed::kSameAddress;
  }
  if (plane == ProbePlane::kHost) return std::nullopt;
  if (one.host == other.host && one.card != kNoIndex &&
      one.card == other.card) {
    return WhyNotProbed::kSameCard;
  }
  if (is_hccs) return std::nullopt;
  const bool is_direct =
      one.direct_peer != kNoIndex || other.direct_peer != kNoIndex;
  if (is_direct && (one.direct_peer != b || other.direct_peer != a ||
                    one.device != other.device)) {
    return WhyNotProbed::kDirectOtherIndex;
  }
  if (!fabric.roce_inside_super_pods && one.super_pod != kNoIndex &&
      one.super_pod == other.super_pod) {
    return WhyNotProbed::kInsideSuperPod;
  }
  return std::nullopt;
}

PlaneIndex::PlaneIndex(const ProbeFabric& fabric, ProbePlane plane)
    : domain_of_(fabric.ports.size(), kNoIndex) {
  const bool is_hccs = plane == ProbePlane::kHccs;
  if (is_hccs) {
    for (const ProbePort& port : fabric.ports) {
      if (port.super_pod != kNoIndex) pods_.push_back(port.super_pod);
    }
    absl::c_sort(pods_);
    pods_.erase(std::unique(pods_.begin(), pods_.end()), pods_.end());
  }
  known_leaves_ =
      static_cast<int>(is_hccs ? pods_.size() : fabric.leaves.size());
  // Rail, leaf and port in one number each, so that sorting moves 8 bytes.
  std::vector<uint64_t> keys;
  keys.reserve(fabric.ports.size());
  leaf_count_ = known_leaves_;
  for (size_t i = 0; i < fabric.ports.size(); ++i) {
    const ProbePort& port = fabric.ports[i];
    if (is_hccs && port.super_pod == kNoIndex) continue;
    if (WhyPortNotProbed(port, plane).has_value()) continue;
    uint64_t leaf;
    if (is_hccs) {
      leaf = absl::c_lower_bound(pods_, port.super_pod) - pods_.begin();
    } else if (port.leaf != kNoIndex) {
      leaf = port.leaf;
    } else {
      ++unknown_leaf_ports_;
      leaf = known_leaves_ + port.rail;
      leaf_count_ = std::max(leaf_count_, static_cast<int>(leaf) + 1);
    }
    keys.push_back(static_cast<uint64_t>(port.rail) << 52 | leaf << 32 | i);
    rail_count_ = std::max(rail_count_, port.rail + 1);
  }
  if (!absl::c_is_sorted(keys)) absl::c_sort(keys);
  sorted_.reserve(keys.size());
  uint64_t place = ~uint64_t{0};
  for (uint64_t key : keys) {
    if (key >> 32 != place) {
      place = key >> 32;
      const int at = static_cast<int>(sorted_.size());
      domains_.push_back({static_cast<int>(place & 0xfffff),
                          static_cast<int>(place >> 20), at, at});
    }
    const int port = static_cast<int>(key & 0xffffffff);
    domain_of_[port] = static_cast<int>(domains_.size()) - 1;
    sorted_.push_back(port);
    ++domains_.back().end;
  }
}

int PlaneIndex::FabricLeaf(int leaf) const {
  if (leaf >= known_leaves_) return kNoIndex;
  return pods_.empty() ? leaf : pods_[leaf];
}

}  // namespace clusterd
