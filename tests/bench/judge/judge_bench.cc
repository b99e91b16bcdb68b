// Measures judging a whole cluster with its report from facts in memory:
//   budget_share  time over what 1,152 servers x 16 devices may take: 50 ms if
//                 healthy, 100 ms if broken
//   us_per_host   time per host
//   growth        us_per_host over that of 1,152 servers with as many devices,
//                 healthy or broken alike, in the same run; 1.0 is linear
// Every device of a broken cluster has two faults of its own, so nothing folds.
// The controller judges facts once, when they have just arrived: small clusters
// are therefore judged in turn from as many copies as make the largest one, so
// that none is still in the processor's cache.
#include <malloc.h>
#include <time.h>

#include <algorithm>
#include <string>
#include <vector>

#include "benchmark/benchmark.h"
#include "config/rules/judge.h"
#include "tests/sim/facts/healthy_facts.h"

namespace clusterd {
namespace {

constexpr double kHealthyBudgetSeconds = 0.050;
constexpr double kBrokenBudgetSeconds = 0.100;
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

constexpr int kLargest = 100000;

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

// Makes as many clusters of the size as have about kLargest servers together.
std::vector<Cluster> MakeClusters(const char* product, int servers,
                                  bool broken) {
  std::vector<Cluster> clusters;
  for (int made = 0; made == 0 || made + servers <= kLargest; made += servers) {
    clusters.push_back(MakeCluster(product, servers));
    if (broken) BreakEveryDevice(&clusters.back());
  }
  return clusters;
}

// The time that a client waits for the report: rules of a large cluster run
// several at a time.
double Now() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<double>(now.tv_sec) +
         static_cast<double>(now.tv_nsec) / 1e9;
}

double SecondsPerHost(benchmark::State& state,
                      const std::vector<Cluster>& clusters) {
  std::vector<double> times;
  size_t turn = 0;
  for (auto _ : state) {
    const Cluster& cluster = clusters[turn++ % clusters.size()];
    const std::vector<const HostFacts*> hosts = Pointers(cluster.facts);
    const double start = Now();
    Report report = BuildReport(cluster.spec, hosts, {});
    times.push_back(Now() - start);
    benchmark::DoNotOptimize(report);
  }
  // The median, since others use this machine too.
  const auto middle = times.begin() + static_cast<long>(times.size() / 2);
  std::nth_element(times.begin(), middle, times.end());
  const double seconds =
      *middle / static_cast<double>(clusters[0].facts.size());
  state.counters["us_per_host"] = seconds * 1e6;
  return seconds;
}

void BM_JudgeLargestSupported(benchmark::State& state, bool broken) {
  const double seconds = SecondsPerHost(
      state, MakeClusters("atlas-a3", kSupportedServers, broken));
  state.counters["budget_share"] =
      seconds * kSupportedServers /
      (broken ? kBrokenBudgetSeconds : kHealthyBudgetSeconds);
}
BENCHMARK_CAPTURE(BM_JudgeLargestSupported, healthy, false)
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(BM_JudgeLargestSupported, broken, true)
    ->Unit(benchmark::kMillisecond);

void BM_JudgeGrowth(benchmark::State& state, bool broken) {
  static double small[2] = {0, 0};
  const int servers = static_cast<int>(state.range(0));
  const double seconds =
      SecondsPerHost(state, MakeClusters("atlas-a2", servers, broken));
  if (servers == kSupportedServers) small[broken] = seconds;
  if (small[broken] > 0) state.counters["growth"] = seconds / small[broken];
}
BENCHMARK_CAPTURE(BM_JudgeGrowth, healthy, false)
    ->Unit(benchmark::kMillisecond)
    ->Arg(kSupportedServers)
    ->Arg(10000)
    ->Arg(kLargest);
BENCHMARK_CAPTURE(BM_JudgeGrowth, broken, true)
    ->Unit(benchmark::kMillisecond)
    ->Arg(kSupportedServers)
    ->Arg(kLargest);

}  // namespace
}  // namespace clusterd

int main(int argc, char** argv) {
  mallopt(M_MXFAST, 0);  // Like clusterd-controller.
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
