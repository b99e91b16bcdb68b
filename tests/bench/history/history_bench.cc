// Measures keeping the report of a check of 1,152 servers, and listing 50
// entries of a full history. Counters:
//   kilobytes      of the report, serialized
//   file_ratio     time over that of writing the same bytes to a new plain file
//                  with one fsync, in turn with it on the same disk
//   budget_share   file_ratio over the 8 that Add may take; time of List over
//                  the 5 ms that it may take
// Every device of a broken cluster has a fault of its own, so that nothing
// folds. The disk is that of TMPDIR; a tmpfs lacks a real fsync and gives other
// figures.
#include <fcntl.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "benchmark/benchmark.h"
#include "config/rules/judge.h"
#include "daemon/controller/history/history_entry.h"
#include "daemon/controller/history/history_store.h"
#include "tests/sim/facts/healthy_facts.h"
#include "tests/support/process/history_testing.h"

namespace clusterd {
namespace {

constexpr int kServers = 1152;
constexpr int kFull = 2000;
constexpr double kAddBudget = 8;
constexpr double kListBudgetSeconds = 0.005;

using Clock = std::chrono::steady_clock;

double SecondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

class Folder {
 public:
  Folder() : path_(std::filesystem::temp_directory_path() / "history.XXXXXX") {
    if (mkdtemp(path_.data()) == nullptr) std::perror(path_.c_str());
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

Report MakeReport(bool broken) {
  const ClusterSpec spec = MakeSpec("atlas-a3", "", kServers);
  std::vector<HostFacts> facts = MakeHealthyFacts(spec);
  if (broken) {
    for (HostFacts& host : facts) {
      for (DeviceFacts& device : *host.mutable_devices()) {
        device.mutable_address()
            ->mutable_value()
            ->mutable_settings(0)
            ->set_netmask("255.255.255.128");
      }
    }
  }
  return BuildReport(spec, Pointers(facts), {});
}

double WriteFileSeconds(const std::string& path, const std::string& bytes) {
  const auto start = Clock::now();
  const int fd = open(path.c_str(), O_CREAT | O_TRUNC | O_WRONLY, 0600);
  const bool written = write(fd, bytes.data(), bytes.size()) ==
                           static_cast<ssize_t>(bytes.size()) &&
                       fsync(fd) == 0;
  close(fd);
  const double seconds = SecondsSince(start);
  if (!written) std::perror(path.c_str());
  std::remove(path.c_str());
  return seconds;
}

void BM_Add(benchmark::State& state, bool broken) {
  const Folder folder;
  const auto store = HistoryStore::Open(folder.path());
  if (!store.ok()) return state.SkipWithError("no store");
  const Report report = MakeReport(broken);
  const std::string bytes = report.SerializeAsString();
  double add = 0;
  double file = 0;
  uint64_t id = 0;
  for (auto _ : state) {
    Report next = report;
    next.set_run_id(TestId(++id));
    const HistoryRecord record = RecordOfCheck(std::move(next), "alice");
    const auto start = Clock::now();
    if (!(*store)->Add(record).ok()) return state.SkipWithError("no Add");
    const double seconds = SecondsSince(start);
    add += seconds;
    file += WriteFileSeconds(folder.path() + "/plain", bytes);
    state.SetIterationTime(seconds);
  }
  state.counters["kilobytes"] = static_cast<double>(bytes.size()) / 1e3;
  state.counters["file_ratio"] = add / file;
  state.counters["budget_share"] = add / file / kAddBudget;
}
BENCHMARK_CAPTURE(BM_Add, healthy, false)
    ->Unit(benchmark::kMillisecond)
    ->UseManualTime();
BENCHMARK_CAPTURE(BM_Add, broken, true)
    ->Unit(benchmark::kMillisecond)
    ->UseManualTime();

// A folder in memory: SQLite's cache has the list after its first page.
void BM_List(benchmark::State& state) {
  const MemoryFolder folder;
  const auto store = HistoryStore::Open(folder.path());
  if (!store.ok()) return state.SkipWithError("no store");
  for (int i = 0; i < kFull; ++i) {
    if (!(*store)->Add(TestCheck(TestId(i), 10000)).ok()) {
      return state.SkipWithError("no Add");
    }
  }
  const auto start = Clock::now();
  for (auto _ : state) {
    auto response = (*store)->List({});
    benchmark::DoNotOptimize(response);
  }
  state.counters["budget_share"] = SecondsSince(start) /
                                   static_cast<double>(state.iterations()) /
                                   kListBudgetSeconds;
}
BENCHMARK(BM_List)->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace clusterd

BENCHMARK_MAIN();
