// Judging a whole cluster with its report, facts in memory. Counters:
//   budget_share  time over the 50 ms that 1,152 servers x 16 devices may take
//   us_per_host   time per host
//   growth        us_per_host over that of 1,152 servers with as many devices,
//                 healthy or broken alike, in the same run; 1.0 is linear
// In a broken cluster every device has two faults that no other device has, so
// that nothing folds.
#include <chrono>
#include <string>
#include <vector>

#include "benchmark/benchmark.h"
#include "config/rules/judge.h"
#include "tests/sim/facts/healthy_facts.h"

namespace clusterd {
namespace {

constexpr double kBudgetSeconds = 0.050;
constexpr int kSupportedServers = 1152;

struct Cluster {
  ClusterSpec spec;
  std::vector<HostFacts> facts;
};

Cluster MakeCluster(const char* product, int servers) {
  Cluster cluster;
  cluster.spec = MakeSpec(product, "", servers);
  cluster.facts = MakeHealthyFacts(cluster.spec);
  return cluster;
}

// Another netmask on every device than the planned one, and no link.
void BreakEveryDevice(Cluster* cluster) {
  for (HostFacts& host : cluster->facts) {
    for (DeviceFacts& device : *host.mutable_devices()) {
      Ipv4Setting* setting =
          device.mutable_address()->mutable_value()->mutable_settings(0);
      setting->set_netmask("255.255.255.128");
      device.mutable_link()->set_value(LinkFact::DOWN);
    }
  }
}

double SecondsPerHost(benchmark::State& state, const Cluster& cluster) {
  using Clock = std::chrono::steady_clock;
  const std::vector<const HostFacts*> hosts = Pointers(cluster.facts);
  Clock::duration spent{};
  for (auto _ : state) {
    const Clock::time_point start = Clock::now();
    Report report = BuildReport(cluster.spec, hosts, {});
    spent += Clock::now() - start;
    benchmark::DoNotOptimize(report);
  }
  const double seconds = std::chrono::duration<double>(spent).count() /
                         static_cast<double>(state.iterations()) /
                         static_cast<double>(hosts.size());
  state.counters["us_per_host"] = seconds * 1e6;
  return seconds;
}

void ReportBudget(benchmark::State& state, const Cluster& cluster) {
  state.counters["budget_share"] = SecondsPerHost(state, cluster) *
                                   static_cast<double>(cluster.facts.size()) /
                                   kBudgetSeconds;
}

// `*small` is the first measurement's time, to which the others are compared.
void ReportGrowth(benchmark::State& state, const Cluster& cluster,
                  double* small) {
  const double seconds = SecondsPerHost(state, cluster);
  if (cluster.facts.size() == kSupportedServers) *small = seconds;
  if (*small > 0) state.counters["growth"] = seconds / *small;
}

void BM_JudgeLargestCluster(benchmark::State& state) {
  ReportBudget(state, MakeCluster("atlas-a3", kSupportedServers));
}
BENCHMARK(BM_JudgeLargestCluster)->Unit(benchmark::kMillisecond);

void BM_JudgeLargestClusterBroken(benchmark::State& state) {
  Cluster cluster = MakeCluster("atlas-a3", kSupportedServers);
  BreakEveryDevice(&cluster);
  ReportBudget(state, cluster);
}
BENCHMARK(BM_JudgeLargestClusterBroken)->Unit(benchmark::kMillisecond);

void BM_JudgeGrowth(benchmark::State& state) {
  static double small = 0;
  ReportGrowth(state, MakeCluster("atlas-a2", static_cast<int>(state.range(0))),
               &small);
}
BENCHMARK(BM_JudgeGrowth)
    ->Unit(benchmark::kMillisecond)
    ->Arg(kSupportedServers)
    ->Arg(10000)
    ->Arg(100000);

void BM_JudgeGrowthBroken(benchmark::State& state) {
  static double small = 0;
  Cluster cluster = MakeCluster("atlas-a2", static_cast<int>(state.range(0)));
  BreakEveryDevice(&cluster);
  ReportGrowth(state, cluster, &small);
}
BENCHMARK(BM_JudgeGrowthBroken)
    ->Unit(benchmark::kMillisecond)
    ->Arg(kSupportedServers)
    ->Arg(100000);

}  // namespace
}  // namespace clusterd

BENCHMARK_MAIN();
