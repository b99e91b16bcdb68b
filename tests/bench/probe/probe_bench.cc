// Measures planning the probes of a cluster of 8 devices a server, and naming
// the culprits of their results:
//   budget_share  time of both over the 100 ms that 10,000 servers may take
//   growth        time per server over that of 1,152 in the same run
// With faults, the time includes the witnesses. Half of all ports dead is no
// case of the budget; it shows that a broken network costs no minutes.
#include <algorithm>
#include <vector>

#include "benchmark/benchmark.h"
#include "config/probe/culprits.h"
#include "config/probe/plan_probes.h"
#include "tests/sim/probe/faulty_network.h"

namespace clusterd {
namespace {

constexpr double kBudgetSeconds = 0.100;
constexpr int kBudgetServers = 10000;
constexpr int kGrowthServers = 1152;

enum Faults { kHealthy, kTen, kLeaves, kHalf };

void AddFaults(Faults faults, const ProbeFabric& fabric,
               FaultyNetwork* network) {
  const int ports = static_cast<int>(fabric.ports.size());
  if (faults == kTen) {
    for (int i = 0; i < 10; ++i) {
      network->Add({FaultKind::kPort, {CulpritKind::kPort, i * ports / 10}});
    }
  } else if (faults == kLeaves) {
    for (int leaf : {1, 7}) {
      network->Add({FaultKind::kLeaf, {CulpritKind::kLeaf, leaf}});
    }
  }
}

// The seconds of CPU of one plan and diagnosis; probes cost nothing here.
double Seconds(int servers, Faults faults, size_t* probes) {
  const ProbeFabric fabric = MakeFabric({servers, 8, 64});
  FaultyNetwork network(fabric, 1);
  AddFaults(faults, fabric, &network);
  const auto now = [] { return static_cast<double>(clock()) / CLOCKS_PER_SEC; };
  double start = now();
  const ProbePlan plan = PlanDeviceProbes(fabric);
  double seconds = now() - start;
  std::vector<ProbeResult> results;
  network.Run(plan, &results);
  if (faults == kHalf) {
    for (ProbeResult& result : results) {
      if (result.from % 2 == 0 || result.to % 2 == 0) result.lost = result.sent;
    }
  }
  start = now();
  const ProbePlan witnesses = PlanWitnesses(fabric, results);
  seconds += now() - start;
  network.Run(witnesses, &results);
  start = now();
  benchmark::DoNotOptimize(Diagnose(fabric, ProbePlane::kRoce, results));
  seconds += now() - start;
  *probes = results.size();
  return seconds;
}

void PlanAndDiagnose(benchmark::State& state, Faults faults) {
  const int servers = static_cast<int>(state.range(0));
  double total = 0;
  double small = 0;
  size_t probes = 0;
  for (auto _ : state) {
    const double seconds = Seconds(servers, faults, &probes);
    state.SetIterationTime(seconds);
    total += seconds;
    size_t ignored = 0;
    small += Seconds(kGrowthServers, faults, &ignored);
  }
  const double each = total / state.iterations();
  state.counters["budget_share"] =
      each / kBudgetSeconds * kBudgetServers / servers;
  state.counters["growth"] = (total / servers) / (small / kGrowthServers);
  state.counters["probes"] = static_cast<double>(probes);
}

BENCHMARK_CAPTURE(PlanAndDiagnose, healthy, kHealthy)
    ->Arg(1152)
    ->Arg(10000)
    ->UseManualTime()
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(PlanAndDiagnose, ten_dead_ports, kTen)
    ->Arg(1152)
    ->Arg(10000)
    ->UseManualTime()
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(PlanAndDiagnose, two_dead_leaves, kLeaves)
    ->Arg(1152)
    ->Arg(10000)
    ->UseManualTime()
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(PlanAndDiagnose, every_second_device_dead, kHalf)
    ->Arg(1152)
    ->Arg(10000)
    ->UseManualTime()
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace clusterd

BENCHMARK_MAIN();
