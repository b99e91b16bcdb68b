// Measures a controller with a whole cluster attached over mutual TLS: the time
// until all hosts are attached, the time of a client's check of all of them,
// the time until all are back after the controller was killed, and its peak
// memory. Real programs, simulated hosts, both ends on this machine.
//   fleet_bench CONTROLLER FLEET [--servers N] [--storms N] [--checks N]
//               [--product P] [--fleets N] [--soak MINUTES] [--rollbacks N]
// A storm of all hosts is compared with one host that attaches alone; --storms
// sets how often all come, and come back. --fleets spreads the servers over so
// many processes, which all connect at once: --fleets 4 --servers 6000. With
// --soak a check begins every second for so long; every few minutes it prints
// the controller's resources, with their ratio to those at first. --rollbacks
// only measures rollbacks (rollbacks.h). Each figure is printed with its ratio
// to its budget; the exit status is 1 if one is over, or if a check did not
// pass.
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <iterator>
#include <string>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "proto/controller.grpc.pb.h"
#include "tests/bench/fleet/cluster.h"
#include "tests/bench/fleet/rollbacks.h"
#include "tests/sim/facts/healthy_facts.h"
#include "tests/sim/fleet/fleet.h"

namespace clusterd {
namespace {

struct Flags {
  ClusterPrograms programs;
  std::string product = "atlas-a2";
  int servers = 1152;
  int storms = 3;
  int checks = 5;
  int fleets = 1;
  int soak_minutes = 0;
  int rollbacks = 0;
};

// Processor time of all its threads so far.
double CpuSeconds(pid_t pid) {
  const std::string stat = ReadFile(absl::StrCat("/proc/", pid, "/stat"));
  const std::vector<std::string> words =
      absl::StrSplit(stat.substr(stat.rfind(')') + 1), ' ');
  double ticks = 0;
  for (const size_t field : {12, 13}) {  // utime and stime (proc(5)).
    double part = 0;
    if (field < words.size() && absl::SimpleAtod(words[field], &part)) {
      ticks += part;
    }
  }
  return ticks / static_cast<double>(sysconf(_SC_CLK_TCK));
}

double Megabytes(pid_t pid, absl::string_view field) {
  const std::string status = ReadFile(absl::StrCat("/proc/", pid, "/status"));
  for (const absl::string_view line : absl::StrSplit(status, '\n')) {
    if (!absl::StartsWith(line, field)) continue;
    const std::vector<absl::string_view> words =
        absl::StrSplit(line, absl::ByAnyChar(" \t"), absl::SkipEmpty());
    double kilobytes = 0;
    if (words.size() > 1 && absl::SimpleAtod(words[1], &kilobytes)) {
      return kilobytes / 1024;
    }
  }
  return 0;
}

double PeakMegabytes(pid_t pid) { return Megabytes(pid, "VmHWM:"); }

// One check; the time until its report. Infinite if it did not pass.
absl::Duration TimeCheck(Controller::Stub* client, int servers) {
  const absl::Time start = absl::Now();
  grpc::ClientContext context;
  const auto stream = client->Check(&context, CheckRequest());
  CheckEvent event;
  Report report;
  while (stream->Read(&event)) {
    if (event.has_report()) report = event.report();
  }
  const grpc::Status status = stream->Finish();
  const absl::Duration elapsed = absl::Now() - start;
  if (status.ok() && report.hosts_size() == servers &&
      report.verdict() != FAIL && report.verdict() != UNKNOWN &&
      report.verdict() != STATE_UNSPECIFIED) {
    return elapsed;
  }
  std::fprintf(stderr, "check: %s, verdict %s, %d hosts\n",
               status.error_message().c_str(),
               State_Name(report.verdict()).c_str(), report.hosts_size());
  return absl::InfiniteDuration();
}

// Resources of a controller that must not grow without bound.
struct Held {
  double megabytes;
  double descriptors;
  double log_megabytes;
};

Held HeldBy(pid_t pid, const std::string& log) {
  const std::filesystem::directory_iterator fds(
      absl::StrCat("/proc/", pid, "/fd"));
  std::error_code ignored;
  return {Megabytes(pid, "VmRSS:"),
          static_cast<double>(std::distance(begin(fds), end(fds))),
          static_cast<double>(std::filesystem::file_size(log, ignored)) / 1e6};
}

void PrintHeld(int minutes, const Held& now, const Held& first) {
  std::printf("after %4d min", minutes);
  const auto print = [](const char* what, double value, double before) {
    std::printf("  %s %.1f (%.2f)", what, value,
                before == 0 ? 0 : value / before);
  };
  print("memory MB", now.megabytes, first.megabytes);
  print("descriptors", now.descriptors, first.descriptors);
  print("log MB", now.log_megabytes, first.log_megabytes);
  std::printf("\n");
  std::fflush(stdout);
}

// A check every second, or as soon as the last one has ended. False if one did
// not pass.
bool Soak(const Flags& flags, Controller::Stub* client, pid_t controller,
          const std::string& log) {
  constexpr int kReportMinutes = 3;
  const Held first = HeldBy(controller, log);
  PrintHeld(0, first, first);
  const absl::Time start = absl::Now();
  absl::Duration slowest;
  int checks = 0;
  for (int minute = 1; minute <= flags.soak_minutes; ++minute) {
    const absl::Time end = start + absl::Minutes(minute);
    for (absl::Time next = absl::Now(); next < end;
         next = std::max(next + absl::Seconds(1), absl::Now())) {
      absl::SleepFor(next - absl::Now());
      slowest = std::max(slowest, TimeCheck(client, flags.servers));
      ++checks;
    }
    if (minute % kReportMinutes == 0 || minute == flags.soak_minutes) {
      PrintHeld(minute, HeldBy(controller, log), first);
    }
  }
  std::printf("%d checks, the slowest %.0f ms\n", checks,
              absl::ToDoubleMilliseconds(slowest));
  return slowest < absl::InfiniteDuration();
}

struct Figures {
  double idle_megabytes = 0;
  double attached_megabytes = 0;
  double most_megabytes = 0;
  double attach_cpu_ms = 0;  // Controller's, per host.
  std::vector<double> alone_ms;
  std::vector<double> attach_s;
  std::vector<double> back_s;
  std::vector<double> check_ms;
  std::string lost;
  bool soaked = true;
};

// One host of its own process, several times.
absl::Status AttachAlone(const BenchCluster& cluster, Figures* figures) {
  constexpr int kTimes = 5;
  for (int i = 0; i < kTimes; ++i) {
    const auto attach = Fleets(cluster, 1).WaitAttached();
    if (!attach.ok()) return attach.status();
    figures->alone_ms.push_back(absl::ToDoubleMilliseconds(*attach));
  }
  return absl::OkStatus();
}

// While all are attached for the first time.
void MeasureChecks(const Flags& flags, const BenchCluster& cluster,
                   Figures* figures) {
  figures->attached_megabytes = PeakMegabytes(cluster.pid());
  const auto client = cluster.Client("spiffe://test/user/bench");
  for (int i = 0; i < flags.checks; ++i) {
    figures->check_ms.push_back(
        absl::ToDoubleMilliseconds(TimeCheck(client.get(), flags.servers)));
  }
  std::sort(figures->check_ms.begin(), figures->check_ms.end());
  figures->soaked = flags.soak_minutes == 0 ||
                    Soak(flags, client.get(), cluster.pid(), cluster.log());
  figures->most_megabytes = PeakMegabytes(cluster.pid());
}

// All hosts come, and come back after the controller was killed.
absl::Status Storm(const Flags& flags, BenchCluster* cluster,
                   Figures* figures) {
  const double cpu_before = CpuSeconds(cluster->pid());
  Fleets fleets(*cluster, flags.servers, flags.fleets);
  const auto attach = fleets.WaitAttached();
  if (!attach.ok()) return attach.status();
  figures->attach_s.push_back(absl::ToDoubleSeconds(*attach));
  if (figures->attach_s.size() == 1) {
    figures->attach_cpu_ms =
        (CpuSeconds(cluster->pid()) - cpu_before) * 1000 / flags.servers;
    MeasureChecks(flags, *cluster, figures);
  }
  const absl::Time killed = absl::Now();
  cluster->KillAndStart();
  const absl::Status status = fleets.WaitAttachedAgain();
  if (!status.ok()) return status;
  figures->back_s.push_back(absl::ToDoubleSeconds(absl::Now() - killed));
  figures->lost += fleets.EndLostOnce();
  return absl::OkStatus();
}

bool PrintAll(const Flags& flags, const Figures& figures) {
  // Budgets are those of 1,152 hosts; 30 MB are for a controller without any.
  const double scale = flags.servers / 1152.0;
  const bool is_large = flags.servers >= 10000;
  // Fewer reconnect before their pauses between two tries are over.
  const double storm = flags.servers < 1000 ? 0 : flags.servers / 10000.0;
  const double attach = Median(figures.attach_s);
  std::printf("%d hosts of %s over mutual TLS, both ends on this machine\n",
              flags.servers, flags.product.c_str());
  bool good = Print("attach, median", attach, "s", 60 * storm);
  Print("one host alone, median", Median(figures.alone_ms), "ms", 0);
  good &=
      PrintRatio("attach, time per host over one alone",
                 attach * 1000 / flags.servers / Median(figures.alone_ms), 1);
  Print("controller's CPU for it, a host", figures.attach_cpu_ms, "ms", 0);
  good &= Print("back after kill -9, median", Median(figures.back_s), "s",
                75 * storm);
  std::printf("lost but by the kill: %s\n",
              figures.lost.empty() ? "none" : figures.lost.c_str());
  good &= figures.lost.empty() && figures.soaked;
  good &= Print("check, fastest", figures.check_ms.front(), "ms", 1000 * scale);
  good &= Print("check, median", Median(figures.check_ms), "ms", 1000 * scale);
  good &= Print("check, slowest", figures.check_ms.back(), "ms", 1000 * scale);
  Print("controller, before any host", figures.idle_megabytes, "MB", 0);
  Print("controller, before any check", figures.attached_megabytes, "MB", 0);
  good &= Print("controller, most memory", figures.most_megabytes, "MB",
                is_large ? 1500 : 30 + 170 * scale);
  return good;
}

int Run(const Flags& flags) {
  RaiseDescriptorLimit();
  if (flags.rollbacks > 0) {
    return MeasureRollbacks(flags.programs, flags.product, flags.servers,
                            flags.rollbacks);
  }
  BenchCluster cluster(flags.programs,
                       MakeSpec(flags.product, "", flags.servers));
  Figures figures;
  absl::Status status = cluster.Start();
  if (status.ok()) {
    figures.idle_megabytes = PeakMegabytes(cluster.pid());
    status = AttachAlone(cluster, &figures);
  }
  for (int i = 0; i < flags.storms && status.ok(); ++i) {
    status = Storm(flags, &cluster, &figures);
  }
  if (!status.ok()) {
    std::fprintf(stderr, "%s\n", status.ToString().c_str());
    return 2;
  }
  return PrintAll(flags, figures) ? 0 : 1;
}

}  // namespace
}  // namespace clusterd

int main(int argc, char** argv) {
  clusterd::Flags flags;
  CLI::App app("Measures a controller with a whole cluster attached.",
               "fleet_bench");
  app.add_option("controller", flags.programs.controller,
                 "Path of clusterd-controller")
      ->required();
  app.add_option("fleet", flags.programs.fleet, "Path of fleet")->required();
  app.add_option("--servers", flags.servers)
      ->check(CLI::Range(2, 100000))
      ->capture_default_str();
  app.add_option("--storms", flags.storms, "How often all hosts come")
      ->check(CLI::Range(1, 100))
      ->capture_default_str();
  app.add_option("--checks", flags.checks)
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  app.add_option("--product", flags.product)->capture_default_str();
  app.add_option("--fleets", flags.fleets, "Processes that have the servers")
      ->check(CLI::Range(1, 64))
      ->capture_default_str();
  app.add_option("--soak", flags.soak_minutes,
                 "Minutes of a check every second");
  app.add_option("--rollbacks", flags.rollbacks,
                 "Measure so many rollbacks alone and beside a viewer");
  CLI11_PARSE(app, argc, argv);
  return clusterd::Run(flags);
}
