// Collects the pairs of a plan. Refuses pairs that must not be probed and those
// over a device's limit, and notes each with its reason.
#ifndef CONFIG_PROBE_PROBE_SHEET_H_
#define CONFIG_PROBE_PROBE_SHEET_H_

#include <vector>

#include "config/probe/fabric.h"
#include "config/probe/plan_probes.h"

namespace clusterd {

class ProbeSheet {
 public:
  // Points to the fabric, which must outlive it.
  ProbeSheet(const ProbeFabric& fabric, int most_pings);

  // Counts what a port has sent already.
  void AddLoad(int from) { ++load_[from]; }

  // False: the pair is refused, and noted with why.
  bool Add(const ProbePair& pair);
  void Skip(int port, ProbePlane plane, WhyNotProbed why);
  // Notes the ports that may not be probed in that plane. In kHccs only those
  // of super pods.
  void SkipExcluded(ProbePlane plane);
  // Notes the ports of the index that are in no pair and not noted yet.
  void SkipAlone(const PlaneIndex& index, ProbePlane plane);

  // The plan with its cost.
  ProbePlan Finish() &&;

 private:
  const ProbeFabric& fabric_;
  const int most_pings_;
  ProbePlan plan_;
  std::vector<int> load_;  // By port.
};

}  // namespace clusterd

#endif  // CONFIG_PROBE_PROBE_SHEET_H_
