// The possible culprits of one plane, numbered densely, and which of them a
// result speaks about. Ports, hosts, leaves and rails have fixed numbers; paths
// and links get one when a failure first needs it.
#ifndef CONFIG_PROBE_HYPOTHESES_H_
#define CONFIG_PROBE_HYPOTHESES_H_

#include <algorithm>
#include <cstdint>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "config/probe/culprits.h"
#include "config/probe/fabric.h"
#include "config/probe/probe_result.h"

namespace clusterd {

class Hypotheses {
 public:
  Hypotheses(const ProbeFabric& fabric, ProbePlane plane);

  const PlaneIndex& index() const { return index_; }
  int size() const { return fixed_ + static_cast<int>(made_.size()); }
  // The number of kPort of a port is the port's own.
  int ports() const { return static_cast<int>(places_.size()); }
  CulpritKind KindOf(int hypothesis) const;
  CulpritId IdOf(int hypothesis) const;
  // Ports that may be probed and belong to it; 0 for those of pairs (uplinks,
  // paths, rails between leaves, links).
  int MembersOf(int hypothesis) const {
    return hypothesis < fixed_ ? members_[hypothesis] : 0;
  }

  // Numbers paths and link of a failed or lossy result.
  void Make(const ProbeResult& result);

  // Calls f(hypothesis) once for each that would explain the result's failure.
  // REQUIRES: both ports are in index().
  template <typename Function>
  void ForEach(const ProbeResult& result, Function f) const {
    ForEachFixed(result, f);
    if (made_.empty()) return;
    for (uint64_t key : KeysOf(result)) {
      if (key == 0) continue;
      const auto found = numbers_.find(key);
      if (found != numbers_.end()) f(found->second);
    }
  }
  // The port's hypotheses with members, other than those of ports.
  template <typename Function>
  void ForEachScope(int port, Function f) const {
    const Place& at = places_[port];
    f(First(CulpritKind::kHost) + at.host);
    f(First(CulpritKind::kLeaf) + at.leaf);
    f(First(CulpritKind::kLeafRail) + at.domain);
    f(First(CulpritKind::kRail) + at.rail);
    f(First(CulpritKind::kFabric));
  }

 private:
  struct Place {
    int host = 0;
    int domain = 0;
    int leaf = 0;
    int rail = 0;
  };
  struct Keys {
    uint64_t keys[4] = {};
    const uint64_t* begin() const { return keys; }
    const uint64_t* end() const { return keys + 4; }
  };

  int First(CulpritKind kind) const { return first_[static_cast<int>(kind)]; }
  Keys KeysOf(const ProbeResult& result) const;
  CulpritId IdOfKey(uint64_t key) const;

  template <typename Function>
  void ForEachFixed(const ProbeResult& result, Function f) const {
    const Place& a = places_[result.from];
    const Place& b = places_[result.to];
    f(result.from);
    if (result.to != result.from) f(result.to);
    f(First(CulpritKind::kSends) + result.from);
    f(First(CulpritKind::kReceives) + result.to);
    const auto both = [&](CulpritKind kind, int one, int other) {
      f(First(kind) + one);
      if (other != one) f(First(kind) + other);
    };
    both(CulpritKind::kHost, a.host, b.host);
    both(CulpritKind::kLeaf, a.leaf, b.leaf);
    both(CulpritKind::kLeafRail, a.domain, b.domain);
    both(CulpritKind::kRail, a.rail, b.rail);
    f(First(CulpritKind::kFabric));
    if (a.leaf == b.leaf) return;
    both(CulpritKind::kUplinks, a.leaf, b.leaf);
    both(CulpritKind::kUplinksRail, a.domain, b.domain);
    both(CulpritKind::kRailBetweenLeaves, a.rail, b.rail);
  }

  PlaneIndex index_;
  std::vector<Place> places_;  // By port; of those in index_.
  int first_[16] = {};         // By kind.
  int fixed_ = 0;
  std::vector<int> members_;  // By fixed number.
  absl::flat_hash_map<uint64_t, int> numbers_;
  std::vector<uint64_t> made_;  // Keys, from number fixed_ on.
};

// True if one is a part or the whole of the other, as a port and what it sends.
bool AreKin(const CulpritId& a, const CulpritId& b);

}  // namespace clusterd

#endif  // CONFIG_PROBE_HYPOTHESES_H_
