// The cost of an observation beside the vendor's commands: a host of 8 devices,
// as a ratio to the slowest device's own chain of commands, run alone and one
// after another; and the time to run /bin/true from a process of much memory,
// as a ratio to posix_spawn(3). Each pair is measured in turn, so that a busy
// machine slows both.
//   observe_bench PATH_OF_SLOW_TOOL [ROUNDS]
// Ends with 1 if a median ratio is over its limit.
#include <spawn.h>
#include <sys/wait.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "daemon/host/command/clock.h"
#include "daemon/host/command/posix_command_runner.h"
#include "daemon/host/machine_observer.h"
#include "tests/support/host/scratch_root.h"

namespace clusterd {
namespace {

constexpr double kLimit = 1.10;
constexpr double kStartLimit = 2.0;
constexpr size_t kMemoryBytes = 256 << 20;
constexpr int kDevices = 8;
constexpr char kTool[] = "/usr/local/Ascend/driver/tools/hccn_tool";
constexpr const char* kChain[] = {
    "-ip",      "-gateway", "-netdetect", "-net_health", "-link",
    "-lldp",    "-mtu",     "-pfc",       "-udp",        "-dscp_to_tc",
    "-prio_tc", "-optical", "-link_stat", "-stat"};

bool MakeHost(const std::string& tool, ScratchRoot* root) {
  for (int id = 0; id < kDevices; ++id) {
    root->Write(absl::StrCat("/dev/davinci", id), "");
  }
  root->WriteProgram(kTool, "");
  std::error_code error;
  std::filesystem::copy_file(tool, root->path() + kTool,
                             std::filesystem::copy_options::overwrite_existing,
                             error);
  root->SetMode(kTool, 0755);
  return !error;
}

// Runs only the chain of the slowest device. Zero if a command failed.
absl::Duration RunChain(const std::string& tool, CommandRunner* runner,
                        Clock* clock) {
  const absl::Duration begin = clock->Monotonic();
  for (const char* query : kChain) {
    const absl::StatusOr<CommandResult> result =
        runner->Run({{tool, "-i", absl::StrCat(kDevices - 1), query, "-g"},
                     absl::Seconds(10)});
    if (!result.ok() || result->exit_status != 0) return absl::ZeroDuration();
  }
  return clock->Monotonic() - begin;
}

// Zero if a fact is missing.
absl::Duration RunObservation(MachineObserver* observer, Clock* clock) {
  const absl::Duration begin = clock->Monotonic();
  const HostFacts facts = observer->Observe("server0", ObserveRequest());
  const absl::Duration took = clock->Monotonic() - begin;
  for (const DeviceFacts& device : facts.devices()) {
    if (device.mtu().value() != 1500) return absl::ZeroDuration();
  }
  return facts.devices_size() == kDevices ? took : absl::ZeroDuration();
}

double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

int Measure(const std::string& tool, int rounds) {
  ScratchRoot root;
  if (!MakeHost(tool, &root)) {
    std::fprintf(stderr, "%s: cannot be copied\n", tool.c_str());
    return 2;
  }
  PosixCommandRunner runner;
  SystemClock clock;
  MachineObserver observer(root.paths(), &runner, &clock);
  std::vector<double> chains;
  std::vector<double> observations;
  std::vector<double> ratios;
  for (int round = 0; round < rounds; ++round) {
    const absl::Duration chain = RunChain(root.path() + kTool, &runner, &clock);
    const absl::Duration observation = RunObservation(&observer, &clock);
    if (chain == absl::ZeroDuration() || observation == absl::ZeroDuration()) {
      std::fprintf(stderr, "%s: did not answer as it should\n", tool.c_str());
      return 2;
    }
    chains.push_back(absl::ToDoubleMilliseconds(chain));
    observations.push_back(absl::ToDoubleMilliseconds(observation));
    ratios.push_back(observations.back() / chains.back());
  }
  const double ratio = Median(ratios);
  std::printf(
      "observe 8 devices, %d rounds: %.1f ms, slowest device's chain %.1f ms, "
      "ratio %.3f (limit %.2f)\n",
      rounds, Median(observations), Median(chains), ratio, kLimit);
  return ratio <= kLimit ? 0 : 1;
}

// Zero if it did not run.
absl::Duration Spawn(Clock* clock) {
  const absl::Duration begin = clock->Monotonic();
  char name[] = "/bin/true";
  char* const argv[] = {name, nullptr};
  char* const variables[] = {nullptr};
  pid_t pid = 0;
  int status = 0;
  if (posix_spawn(&pid, name, nullptr, nullptr, argv, variables) != 0 ||
      waitpid(pid, &status, 0) != pid || status != 0) {
    return absl::ZeroDuration();
  }
  return clock->Monotonic() - begin;
}

int MeasureStarts(int rounds) {
  const std::vector<char> memory(kMemoryBytes, 'x');
  PosixCommandRunner runner;
  SystemClock clock;
  std::vector<double> ours;
  std::vector<double> ratios;
  for (int round = 0; round < rounds * 10; ++round) {
    const absl::Duration spawned = Spawn(&clock);
    const auto result = runner.Run({{"/bin/true"}, absl::Seconds(10)});
    if (spawned == absl::ZeroDuration() || !result.ok()) return 2;
    ours.push_back(absl::ToDoubleMilliseconds(result->elapsed));
    ratios.push_back(ours.back() / absl::ToDoubleMilliseconds(spawned));
  }
  const double ratio = Median(ratios);
  std::printf(
      "run /bin/true from %zu MB, %d rounds: %.2f ms, ratio to posix_spawn "
      "%.2f (limit %.1f)\n",
      memory.size() >> 20, rounds * 10, Median(ours), ratio, kStartLimit);
  return ratio <= kStartLimit ? 0 : 1;
}

}  // namespace
}  // namespace clusterd

int main(int argc, char** argv) {
  int rounds = 21;
  if (argc < 2 || argc > 3 ||
      (argc == 3 && (!absl::SimpleAtoi(argv[2], &rounds) || rounds < 1))) {
    std::fprintf(stderr, "usage: %s PATH_OF_SLOW_TOOL [ROUNDS]\n", argv[0]);
    return 2;
  }
  return std::max(clusterd::MeasureStarts(rounds),
                  clusterd::Measure(argv[1], rounds));
}
