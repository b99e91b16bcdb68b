// Names the culprits of failures: the fewest ports, hosts, leaves, paths and
// rails that explain them, from probes, dials or the tables of HCCL's logs.
//
//   server0417 device 3: 63 of 64 tables agree
//   undecided: server0417 device 3 or server0418 device 3
//
// A success clears everything that it passed, and what is left must explain the
// failures. Where two explanations are equally good the answer is undecided. A
// port is named only if two good ports of its own leaf failed with it.
#ifndef CONFIG_PROBE_CULPRITS_H_
#define CONFIG_PROBE_CULPRITS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "absl/types/span.h"
#include "config/probe/fabric.h"
#include "config/probe/probe_result.h"

namespace clusterd {

// Narrow ones first: among equal explanations the first is named.
//   kind                what fails               a       b      rail
//   kPort               everything of the port   port    -      -
//   kSends, kReceives   what the port begins, or port    -      -
//                       others begin with it
//   kHost               all ports of the host    host    -      -
//   kLeaf, kLeafRail    the switch's ports, or   leaf    -      -, rail
//                       those of one rail
//   kUplinks(Rail)      leaf to all others       leaf    -      -, rail
//   kPath, kPathOneWay, between two leaves; from leaf    leaf   -, -,
//   kPathRail           a to b only; one rail                   rail
//   kRail               all ports of the rail    -       -      rail
//   kRailBetweenLeaves  its ports of different   -       -      rail
//                       leaves, as with a wrong
//                       netmask or no gateway
//   kFabric             everything               -       -      -
//   kLink               only these two ports,    port    port   -
//                       e.g. one of the paths
//                       between their leaves
// kPort is the port, its module, and either direction of its cable: no ping
// distinguishes them. In a fabric of hosts it is the host.
enum class CulpritKind : uint8_t {
  kPort,
  kSends,
  kReceives,
  kHost,
  kLeaf,
  kLeafRail,
  kUplinks,
  kUplinksRail,
  kPath,
  kPathOneWay,
  kPathRail,
  kRail,
  kRailBetweenLeaves,
  kFabric,
  kLink,
};

// Indices into ProbeFabric; a leaf is kNoIndex where it is unknown, and in
// kHccs the number of the super pod. Of a pair without direction a <= b.
struct CulpritId {
  CulpritKind kind = CulpritKind::kPort;
  int a = kNoIndex;
  int b = kNoIndex;
  int rail = kNoIndex;

  friend bool operator==(const CulpritId& x, const CulpritId& y) {
    return x.kind == y.kind && x.a == y.a && x.b == y.b && x.rail == y.rail;
  }
};

struct Culprit {
  CulpritId id;
  ProbePlane plane = ProbePlane::kRoce;
  // Others that explain the same as well, best first. Not empty: undecided,
  // and neither may be treated as found.
  std::vector<CulpritId> or_else;
  // Of a port: the known cause, which needed no probe.
  std::optional<WhyNotProbed> known;
  // It loses packets, and some arrive; `loss` is their share, 0 to 1.
  bool is_lossy = false;
  double loss = 1;
  size_t explained = 0;  // Failed or lossy results that it explains.
  // Ports that reported a failure, and those with one that it explains.
  size_t reporters = 0;
  size_t agreeing = 0;

  bool IsDecided() const { return or_else.empty(); }
};

struct Diagnosis {
  ProbePlane plane = ProbePlane::kRoce;
  // Decided ones first, then by what they explain.
  std::vector<Culprit> culprits;
  size_t failed = 0;  // Results without any answer.
  size_t lossy = 0;   // Results with some.
  // Results, by index, that no culprit explains, such as one lost packet. They
  // are no pass.
  std::vector<size_t> unexplained;
  size_t probed_ports = 0;
  // Of the plane, not excluded and without a result: unknown.
  size_t unprobed_ports = 0;
  // The fewest packets that passed a port that no culprit names, and the share
  // of loss that they could have missed with 95 % confidence. 0 and 1 where
  // there is no such port.
  uint64_t least_packets = 0;
  double unseen_loss = 1;

  // Every port that is not excluded was probed, and nothing was lost.
  bool IsPass() const {
    return culprits.empty() && unexplained.empty() && probed_ports > 0 &&
           unprobed_ports == 0;
  }
};

// Judges the results of that plane; others are ignored. Ports that are excluded
// for a known cause, a fact, explain their failures. So a caller with a job's
// own logs must not exclude its ports as kInUse. REQUIRES: indices in range.
Diagnosis Diagnose(const ProbeFabric& fabric, ProbePlane plane,
                   absl::Span<const ProbeResult> results);

// Stage 4: the decided culprits of `second` that `first` had too, decided or
// not. Only these may fail or drain a host. None if `apart`, the time between
// the two rounds of probes, is less than kAgainAfter.
std::vector<Culprit> ConfirmedCulprits(const Diagnosis& first,
                                       const Diagnosis& second,
                                       absl::Duration apart);

// For logs and tests, e.g. "server0417 device 3", "leaf sw-7, rail 2".
std::string CulpritName(const ProbeFabric& fabric, const CulpritId& id);
// The same with its evidence, as above.
std::string CulpritText(const ProbeFabric& fabric, const Culprit& culprit);
// "pass: loss under 22 % at 95 % confidence, 9216 ports", or its culprits.
// Without a result it is "unknown: …".
std::string DiagnosisText(const ProbeFabric& fabric,
                          const Diagnosis& diagnosis);

}  // namespace clusterd

#endif  // CONFIG_PROBE_CULPRITS_H_
