// The possible culprits of one plane, numbered densely, and the fewest of them
// that explain failures. Those of ports, hosts, leaves and rails have fixed
// numbers; paths and links get one when a failure first needs it.
#ifndef CONFIG_PROBE_HYPOTHESES_H_
#define CONFIG_PROBE_HYPOTHESES_H_

#include <cstdint>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/types/span.h"
#include "config/probe/culprits.h"
#include "config/probe/fabric.h"
#include "config/probe/probe_result.h"

namespace clusterd {

class Hypotheses {
 public:
  Hypotheses(const ProbeFabric& fabric, ProbePlane plane);

  const PlaneIndex& index() const { return index_; }
  int size() const { return fixed_ + static_cast<int>(made_.size()); }
  // The number of a port's kPort is the port's own.
  int ports() const { return static_cast<int>(places_.size()); }
  CulpritKind KindOf(int hypothesis) const;
  CulpritId IdOf(int hypothesis) const;
  // Ports that may be probed and belong to it; 0 for those of pairs: uplinks,
  // paths, rails between leaves, links.
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
    ForEachKey(result, [&](uint64_t key) {
      const auto found = numbers_.find(key);
      if (found != numbers_.end()) f(found->second);
    });
  }
  // What the port is a member of.
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

  int First(CulpritKind kind) const { return first_[static_cast<int>(kind)]; }
  // A key is the kind and both ends of a path or link, in 2, 31 and 31 bits.
  static uint64_t KeyOf(int kind, int a, int b) {
    return static_cast<uint64_t>(kind) << 62 | static_cast<uint64_t>(a) << 31 |
           static_cast<uint64_t>(b);
  }

  template <typename Function>
  void ForEachKey(const ProbeResult& result, Function f) const {
    const Place& a = places_[result.from];
    const Place& b = places_[result.to];
    const auto unordered = [&](int kind, int one, int other) {
      f(one < other ? KeyOf(kind, one, other) : KeyOf(kind, other, one));
    };
    unordered(3, result.from, result.to);
    if (a.leaf == b.leaf) return;
    unordered(0, a.leaf, b.leaf);
    f(KeyOf(1, a.leaf, b.leaf));
    unordered(2, a.domain, b.domain);
  }

  template <typename Function>
  void ForEachFixed(const ProbeResult& result, Function f) const {
    const Place& a = places_[result.from];
    const Place& b = places_[result.to];
    const auto both = [&](CulpritKind kind, int one, int other) {
      f(First(kind) + one);
      if (other != one) f(First(kind) + other);
    };
    both(CulpritKind::kPort, result.from, result.to);
    f(First(CulpritKind::kSends) + result.from);
    f(First(CulpritKind::kReceives) + result.to);
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
  int first_[static_cast<int>(CulpritKind::kLink) + 1] = {};  // By kind.
  int fixed_ = 0;
  std::vector<int> members_;  // By fixed number.
  absl::flat_hash_map<uint64_t, int> numbers_;
  std::vector<uint64_t> made_;  // Keys, from number fixed_ on.
};

// True if one is a part of the other, as a port and what it sends.
bool AreKin(const CulpritId& a, const CulpritId& b);

struct Explanation {
  int hypothesis = 0;
  std::vector<int> explains;  // Indices of results.
  std::vector<int> rivals;    // Other hypotheses, equally good.
  double loss = 1;            // The share of packets, 0 to 1.
};

struct Unexplained {
  const Hypotheses& hypotheses;
  absl::Span<const ProbeResult> results;
  const std::vector<int>& failures;  // Indices of what is to be explained.
  const std::vector<bool>& usable;   // By result: false, it says nothing.
};

// Explains results without any answer by the cheapest hypotheses that nothing
// that was reached contradicts (weighted set cover, greedy, then without those
// that became superfluous). One over n members or pairs costs sqrt(n), at least
// 1.5, and a port 1: so eight dead ports are a dead host, and one port that 63
// of 64 tables name is no dead rail. Links explain nothing here.
std::vector<Explanation> ExplainFailures(const Unexplained& input);

// Explains lost packets where others arrived, by their likelihood against a
// background of rare losses. Rivals are within a likelihood ratio of 20. One
// lost packet of three stays without an explanation.
std::vector<Explanation> ExplainLosses(const Unexplained& input);

}  // namespace clusterd

#endif  // CONFIG_PROBE_HYPOTHESES_H_
