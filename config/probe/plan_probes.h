// Plans which ports probe which, so that few probes name one culprit:
//   1  every port pings the next two under its leaf, in its rail (a circulant
//      graph {1,2}): each is in four probes, and any success clears both ends
//   2  every leaf pings the next two of its rail, `leaf_pairs` pairs each
//   3  three witnesses for each suspect: two of its own leaf, one of another
//   4  what failed, once more; a finding may fail or drain a host only if it is
//      there both times, kAgainAfter apart (ConfirmedCulprits)
// Stages 1 and 2 cost at most 4 pings a device on average. Pure: runs nothing.
#ifndef CONFIG_PROBE_PLAN_PROBES_H_
#define CONFIG_PROBE_PLAN_PROBES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "absl/types/span.h"
#include "config/probe/fabric.h"
#include "config/probe/probe_result.h"

namespace clusterd {

inline constexpr absl::Duration kAgainAfter = absl::Seconds(30);

struct ProbeOptions {
  // Stage 2. 8 pairs pass 4 paths of equal cost with about 60 %, and 33 pass 8
  // of them with 90 % (R-Pingmesh, doi 10.1145/3651890.3672264). Never more
  // than the leaf has ports, so that the average holds.
  int leaf_pairs = 8;
  // Pings that one device sends, all stages together.
  int most_pings = 32;
};

struct ProbePair {
  int from = 0;  // Index of the port whose host runs the probe.
  int to = 0;
  ProbePlane plane = ProbePlane::kRoce;
  uint8_t stage = 1;
};

struct ProbeSkip {
  int port = 0;
  int peer = kNoIndex;  // kNoIndex: no peer of the port is probed with it.
  ProbePlane plane = ProbePlane::kRoce;
  WhyNotProbed why = WhyNotProbed::kNoAddress;
};

struct ProbeCost {
  size_t probes = 0;
  size_t ports = 0;  // That may be probed, in any plane of the plan.
  size_t hosts = 0;  // That run at least one.
  // Probes of the busiest port. They run one after the other, since the tool
  // answers "busy" otherwise; those of other ports run beside them.
  size_t longest_chain = 0;
  double Average() const {
    return ports == 0 ? 0 : static_cast<double>(probes) / ports;
  }
};

struct ProbePlan {
  std::vector<ProbePair> pairs;
  std::vector<ProbeSkip> skipped;
  ProbeCost cost;
  // Ports whose leaf is unknown: with all others of their rail they were
  // planned as if under one leaf, so no leaf or path can be named.
  size_t unknown_leaf_ports = 0;
};

// Stages 1 and 2 in kRoce and kHccs. Ports of super pods ping each other over
// HCCS inside their pod, and over RoCE two of the next pod.
ProbePlan PlanDeviceProbes(const ProbeFabric& fabric,
                           const ProbeOptions& options = {});

// Every host dials `root`, the job's first host, and the next two others: at
// most 3N dials for N hosts. `hosts` is from MakeHostFabric().
// REQUIRES: 0 <= root < hosts.ports.size().
ProbePlan PlanHostDials(const ProbeFabric& hosts, int root);

// Stage 3 for the results of the stages before, of any planes. A suspect is a
// port that nothing has reached. Under a leaf of suspects alone one port is
// probed from three other leaves. A probe that failed between good ports is
// asked the other way too; a port with several such is probed both ways with
// three witnesses.
ProbePlan PlanWitnesses(const ProbeFabric& fabric,
                        absl::Span<const ProbeResult> results,
                        const ProbeOptions& options = {});

// Stage 4: every pair that failed or lost packets, once more. To be run
// kAgainAfter later or after that.
ProbePlan PlanAgain(const ProbeFabric& fabric,
                    absl::Span<const ProbeResult> results,
                    const ProbeOptions& options = {});

// The results of stages 1 to 3 with those of stage 4 in place of the failed
// and lossy ones. Those without a second answer are dropped.
std::vector<ProbeResult> MergeAgain(absl::Span<const ProbeResult> first,
                                    absl::Span<const ProbeResult> again);

// One line for logs, e.g. "23040 probes, 2.5 a port, at most 4 in a row at one
// port, by 1152 hosts; 3 ports skipped (in use by a job 3)". Texts that users
// read are made of the same fields.
std::string CostText(const ProbePlan& plan);

}  // namespace clusterd

#endif  // CONFIG_PROBE_PLAN_PROBES_H_
