#include "config/probe/hypotheses.h"

#include <algorithm>
#include <utility>

namespace clusterd {
namespace {

constexpr uint64_t kPartOfKey = (uint64_t{1} << 31) - 1;
constexpr CulpritKind kKindsOfKeys[] = {
    CulpritKind::kPath, CulpritKind::kPathOneWay, CulpritKind::kPathRail,
    CulpritKind::kLink};

// By kind: kinds of one family describe the same place.
constexpr int kFamilies[] = {0, 0, 0, 1, 2, 2, 3, 3, 4, 4, 4, 5, 5, 6, 7};

}  // namespace

Hypotheses::Hypotheses(const ProbeFabric& fabric, ProbePlane plane)
    : index_(fabric, plane), places_(fabric.ports.size()) {
  const int hosts = static_cast<int>(fabric.hosts.size());
  const int leaves = index_.leaf_count();
  const int domains = static_cast<int>(index_.domains().size());
  const int rails = index_.rail_count();
  const int sizes[] = {ports(), ports(), ports(), hosts, leaves,
                       domains, leaves,  domains, 0,     0,
                       0,       rails,   rails,   1,     0};  // By kind.
  for (size_t kind = 0; kind < std::size(sizes); ++kind) {
    first_[kind] = fixed_;
    fixed_ += sizes[kind];
  }
  members_.resize(fixed_);
  std::fill_n(members_.begin(), First(CulpritKind::kHost), 1);
  for (int port : index_.ports()) {
    const int number = index_.DomainOf(port);
    const PlaneIndex::Domain& domain = index_.domains()[number];
    places_[port] = {fabric.ports[port].host, number, domain.leaf, domain.rail};
    ForEachScope(port, [this](int scope) { ++members_[scope]; });
  }
}

void Hypotheses::Make(const ProbeResult& result) {
  ForEachKey(result, [this](uint64_t key) {
    if (numbers_.try_emplace(key, size()).second) made_.push_back(key);
  });
}

CulpritKind Hypotheses::KindOf(int hypothesis) const {
  if (hypothesis >= fixed_) {
    return kKindsOfKeys[made_[hypothesis - fixed_] >> 62];
  }
  int kind = static_cast<int>(CulpritKind::kFabric);
  while (hypothesis < first_[kind]) --kind;
  return static_cast<CulpritKind>(kind);
}

CulpritId Hypotheses::IdOf(int hypothesis) const {
  const CulpritKind kind = KindOf(hypothesis);
  const auto leaf = [this](int number) { return index_.FabricLeaf(number); };
  const auto pair = [kind](int a, int b, int rail) {
    if (a > b && kind != CulpritKind::kPathOneWay) std::swap(a, b);
    return CulpritId{kind, a, b, rail};
  };
  if (hypothesis >= fixed_) {
    const uint64_t key = made_[hypothesis - fixed_];
    const int a = static_cast<int>(key >> 31 & kPartOfKey);
    const int b = static_cast<int>(key & kPartOfKey);
    if (kind == CulpritKind::kLink) return pair(a, b, kNoIndex);
    if (kind != CulpritKind::kPathRail) return pair(leaf(a), leaf(b), kNoIndex);
    const PlaneIndex::Domain& from = index_.domains()[a];
    return pair(leaf(from.leaf), leaf(index_.domains()[b].leaf), from.rail);
  }
  const int at = hypothesis - First(kind);
  switch (kind) {
    case CulpritKind::kLeaf:
    case CulpritKind::kUplinks:
      return {kind, leaf(at)};
    case CulpritKind::kLeafRail:
    case CulpritKind::kUplinksRail:
      return {kind, leaf(index_.domains()[at].leaf), kNoIndex,
              index_.domains()[at].rail};
    case CulpritKind::kRail:
    case CulpritKind::kRailBetweenLeaves:
      return {kind, kNoIndex, kNoIndex, at};
    default:
      return {kind, kind == CulpritKind::kFabric ? kNoIndex : at};
  }
}

bool AreKin(const CulpritId& a, const CulpritId& b) {
  if (kFamilies[static_cast<int>(a.kind)] !=
      kFamilies[static_cast<int>(b.kind)]) {
    return false;
  }
  const bool same_rail =
      a.rail == b.rail || a.rail == kNoIndex || b.rail == kNoIndex;
  return same_rail && std::minmax(a.a, a.b) == std::minmax(b.a, b.b);
}

}  // namespace clusterd
