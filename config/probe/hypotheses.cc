#include "config/probe/hypotheses.h"

#include <utility>

namespace clusterd {
namespace {

// A key is the kind, rail and both ends of a path or link; never 0.
constexpr int kKindShift = 62;
constexpr int kHighShift = 31;
constexpr uint64_t kPartMask = (uint64_t{1} << kHighShift) - 1;
constexpr CulpritKind kKeyKinds[] = {
    CulpritKind::kPath, CulpritKind::kPathOneWay, CulpritKind::kPathRail,
    CulpritKind::kLink};

uint64_t KeyOf(int kind, int a, int b) {
  return static_cast<uint64_t>(kind) << kKindShift |
         static_cast<uint64_t>(a) << kHighShift | static_cast<uint64_t>(b);
}

uint64_t UnorderedKey(int kind, int a, int b) {
  return KeyOf(kind, std::min(a, b), std::max(a, b));
}

}  // namespace

Hypotheses::Hypotheses(const ProbeFabric& fabric, ProbePlane plane)
    : index_(fabric, plane), places_(fabric.ports.size()) {
  const int ports = static_cast<int>(fabric.ports.size());
  const int hosts = static_cast<int>(fabric.hosts.size());
  const int domains = static_cast<int>(index_.domains().size());
  const std::pair<CulpritKind, int> sizes[] = {
      {CulpritKind::kPort, ports},
      {CulpritKind::kSends, ports},
      {CulpritKind::kReceives, ports},
      {CulpritKind::kHost, hosts},
      {CulpritKind::kLeaf, index_.leaf_count()},
      {CulpritKind::kLeafRail, domains},
      {CulpritKind::kUplinks, index_.leaf_count()},
      {CulpritKind::kUplinksRail, domains},
      {CulpritKind::kRail, index_.rail_count()},
      {CulpritKind::kRailBetweenLeaves, index_.rail_count()},
      {CulpritKind::kFabric, 1},
  };
  for (const auto& [kind, size] : sizes) {
    first_[static_cast<int>(kind)] = fixed_;
    fixed_ += size;
  }
  members_.resize(fixed_);
  std::fill_n(members_.begin(), First(CulpritKind::kHost), 1);
  for (int port : index_.ports()) {
    const int domain = index_.DomainOf(port);
    places_[port] = {fabric.ports[port].host, domain,
                     index_.domains()[domain].leaf,
                     index_.domains()[domain].rail};
    ForEachScope(port, [this](int scope) { ++members_[scope]; });
  }
}

Hypotheses::Keys Hypotheses::KeysOf(const ProbeResult& result) const {
  const Place& a = places_[result.from];
  const Place& b = places_[result.to];
  Keys keys;
  keys.keys[3] = UnorderedKey(3, result.from, result.to);
  if (a.leaf == b.leaf) return keys;
  keys.keys[0] = UnorderedKey(0, a.leaf, b.leaf);
  keys.keys[1] = KeyOf(1, a.leaf, b.leaf);
  keys.keys[2] = UnorderedKey(2, a.domain, b.domain);
  return keys;
}

void Hypotheses::Make(const ProbeResult& result) {
  for (uint64_t key : KeysOf(result)) {
    if (key == 0) continue;
    if (numbers_.try_emplace(key, size()).second) made_.push_back(key);
  }
}

CulpritKind Hypotheses::KindOf(int hypothesis) const {
  if (hypothesis >= fixed_) {
    return kKeyKinds[made_[hypothesis - fixed_] >> kKindShift];
  }
  constexpr CulpritKind kDescending[] = {
      CulpritKind::kFabric,   CulpritKind::kRailBetweenLeaves,
      CulpritKind::kRail,     CulpritKind::kUplinksRail,
      CulpritKind::kUplinks,  CulpritKind::kLeafRail,
      CulpritKind::kLeaf,     CulpritKind::kHost,
      CulpritKind::kReceives, CulpritKind::kSends,
  };
  for (CulpritKind kind : kDescending) {
    if (hypothesis >= First(kind)) return kind;
  }
  return CulpritKind::kPort;
}

CulpritId Hypotheses::IdOfKey(uint64_t key) const {
  const CulpritKind kind = kKeyKinds[key >> kKindShift];
  const int a = static_cast<int>(key >> kHighShift & kPartMask);
  const int b = static_cast<int>(key & kPartMask);
  const auto ordered = [kind](int one, int other, int rail) {
    if (one > other && kind != CulpritKind::kPathOneWay) std::swap(one, other);
    return CulpritId{kind, one, other, rail};
  };
  if (kind == CulpritKind::kLink) return ordered(a, b, kNoIndex);
  if (kind != CulpritKind::kPathRail) {
    return ordered(index_.FabricLeaf(a), index_.FabricLeaf(b), kNoIndex);
  }
  const PlaneIndex::Domain& one = index_.domains()[a];
  const PlaneIndex::Domain& other = index_.domains()[b];
  return ordered(index_.FabricLeaf(one.leaf), index_.FabricLeaf(other.leaf),
                 one.rail);
}

CulpritId Hypotheses::IdOf(int hypothesis) const {
  if (hypothesis >= fixed_) return IdOfKey(made_[hypothesis - fixed_]);
  const CulpritKind kind = KindOf(hypothesis);
  const int at = hypothesis - First(kind);
  switch (kind) {
    case CulpritKind::kLeaf:
    case CulpritKind::kUplinks:
      return {kind, index_.FabricLeaf(at)};
    case CulpritKind::kLeafRail:
    case CulpritKind::kUplinksRail: {
      const PlaneIndex::Domain& domain = index_.domains()[at];
      return {kind, index_.FabricLeaf(domain.leaf), kNoIndex, domain.rail};
    }
    case CulpritKind::kRail:
    case CulpritKind::kRailBetweenLeaves:
      return {kind, kNoIndex, kNoIndex, at};
    case CulpritKind::kFabric:
      return {kind};
    default:
      return {kind, at};
  }
}

bool AreKin(const CulpritId& a, const CulpritId& b) {
  const auto family = [](CulpritKind kind) {
    switch (kind) {
      case CulpritKind::kPort:
      case CulpritKind::kSends:
      case CulpritKind::kReceives:
        return 0;
      case CulpritKind::kLeaf:
      case CulpritKind::kLeafRail:
        return 1;
      case CulpritKind::kUplinks:
      case CulpritKind::kUplinksRail:
        return 2;
      case CulpritKind::kPath:
      case CulpritKind::kPathOneWay:
      case CulpritKind::kPathRail:
        return 3;
      case CulpritKind::kRail:
      case CulpritKind::kRailBetweenLeaves:
        return 4;
      default:
        return 5 + static_cast<int>(kind);
    }
  };
  if (family(a.kind) != family(b.kind)) return false;
  if (family(a.kind) == 4) return a.rail == b.rail;
  const bool same_rail =
      a.rail == b.rail || a.rail == kNoIndex || b.rail == kNoIndex;
  return same_rail && std::min(a.a, a.b) == std::min(b.a, b.b) &&
         std::max(a.a, a.b) == std::max(b.a, b.b);
}

}  // namespace clusterd
