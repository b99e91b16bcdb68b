// A network of ports, hosts and leaves with faults that are known, which
// answers the probes of a plan. The same seed gives the same network and the
// same answers on every machine.
#ifndef TESTS_SIM_PROBE_FAULTY_NETWORK_H_
#define TESTS_SIM_PROBE_FAULTY_NETWORK_H_

#include <cstdint>
#include <random>
#include <vector>

#include "absl/types/span.h"
#include "config/probe/culprits.h"
#include "config/probe/fabric.h"
#include "config/probe/plan_probes.h"
#include "config/probe/probe_result.h"

namespace clusterd {

// Numbers from 0 to below a bound; std::uniform_int_distribution differs
// between libraries.
class Dice {
 public:
  explicit Dice(uint64_t seed) : engine_(seed) {}
  int Below(int bound) { return static_cast<int>(engine_() % bound); }
  int Between(int least, int most) { return least + Below(most - least + 1); }
  bool Happens(double share) { return (engine_() >> 11) * 0x1p-53 < share; }

 private:
  std::mt19937_64 engine_;
};

struct NetworkShape {
  int hosts = 64;
  int rails = 8;
  int leaf_hosts = 16;  // Hosts under one leaf; the last may have more.
  // Device i of each host has a leaf of its own; otherwise all have the same.
  bool leaf_per_rail = false;
};

ProbeFabric MakeFabric(const NetworkShape& shape);

enum class FaultKind {
  kPort,
  kCableOut,  // The cable has lost one direction: pings fail both ways.
  kCableIn,
  kSends,  // Only what the port begins fails.
  kReceives,
  kHost,
  kLeaf,
  kUplinks,
  kPath,
  kPathOneWay,
  kFlows,        // Half of the flows of a path.
  kRailMask,     // Ports of a rail reach only their own leaf.
  kFivePlusTwo,  // Five ports under one leaf, and two elsewhere.
  kGray,         // A port loses 40 to 70 % of the packets.
};
inline constexpr FaultKind kAllFaults[] = {
    FaultKind::kPort,        FaultKind::kCableOut, FaultKind::kCableIn,
    FaultKind::kSends,       FaultKind::kReceives, FaultKind::kHost,
    FaultKind::kLeaf,        FaultKind::kUplinks,  FaultKind::kPath,
    FaultKind::kPathOneWay,  FaultKind::kFlows,    FaultKind::kRailMask,
    FaultKind::kFivePlusTwo, FaultKind::kGray,
};
const char* FaultName(FaultKind kind);

struct Fault {
  FaultKind kind = FaultKind::kPort;
  CulpritId id;  // What a diagnosis should name.
  double loss = 1;
};

class FaultyNetwork {
 public:
  // Points to the fabric, which must outlive it.
  FaultyNetwork(const ProbeFabric& fabric, uint64_t seed)
      : fabric_(fabric), dice_(seed) {}

  // Adds a fault at a random place that no other one is beside: on no host, no
  // leaf and no rail of another fault of a host, leaf, path or rail.
  void AddRandom(FaultKind kind);
  void Add(const Fault& fault) { faults_.push_back(fault); }
  const std::vector<Fault>& faults() const { return faults_; }

  ProbeResult Answer(const ProbePair& pair);
  // Appends the answers of all pairs.
  void Run(const ProbePlan& plan, std::vector<ProbeResult>* results);

 private:
  bool Concerns(const Fault& fault, const ProbePair& pair) const;
  Fault RandomFault(FaultKind kind);
  bool IsApart(const Fault& fault) const;

  const ProbeFabric& fabric_;
  Dice dice_;
  std::vector<Fault> faults_;
};

// All three stages in that plane: plan, answers, witnesses, answers.
std::vector<ProbeResult> ProbeAll(const ProbeFabric& fabric,
                                  FaultyNetwork* network);

}  // namespace clusterd

#endif  // TESTS_SIM_PROBE_FAULTY_NETWORK_H_
