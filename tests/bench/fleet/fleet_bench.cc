// Measures a controller with a whole cluster attached over mutual TLS: how long
// it takes until all hosts are there, how long a check of all of them takes for
// a client, how long until all are back after the controller was killed, and
// how much memory it has used at most. Real programs, simulated hosts, both
// ends on this machine.
//   fleet_bench CONTROLLER FLEET [--servers N] [--checks N] [--product P]
//               [--fleets N] [--soak MINUTES]
// With --fleets the servers are of so many processes, which all dial at once:
// --fleets 4 --servers 6000. With --soak a check begins every second for so
// long; what the controller holds then is printed every few minutes, with its
// ratio to what it held at first. Each figure is printed with its ratio to its
// budget; the exit status is 1 if one is over, or if a check did not pass.
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "config/identity/tls_credentials.h"
#include "config/spec/spec_loader.h"
#include "grpcpp/create_channel.h"
#include "proto/controller.grpc.pb.h"
#include "re2/re2.h"
#include "tests/e2e/process.h"
#include "tests/sim/facts/healthy_facts.h"
#include "tests/support/config/test_authority.h"

namespace clusterd {
namespace {

struct Flags {
  std::string controller;
  std::string fleet;
  std::string product = "atlas-a2";
  int servers = 1152;
  int checks = 5;
  int fleets = 1;
  int soak_minutes = 0;
};

// A folder that is gone afterwards.
class Folder {
 public:
  Folder() {
    if (mkdtemp(name_.data()) == nullptr) std::abort();
  }
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(name_, ignored);
  }
  std::string Write(const std::string& file, const std::string& text) const {
    const std::string path = absl::StrCat(name_, "/", file);
    std::ofstream(path) << text;
    std::filesystem::permissions(path, std::filesystem::perms::owner_read |
                                           std::filesystem::perms::owner_write);
    return path;
  }

  const std::string& path() const { return name_; }

 private:
  std::string name_ = "/tmp/clusterd_bench_XXXXXX";
};

std::string ReadFile(const std::string& path) {
  std::ifstream file(path);
  std::string text;
  std::getline(file, text, '\0');
  return text;
}

// Of all its threads, so far.
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

// One check; the time until its report was there. Infinite if it did not pass.
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

bool Print(const char* what, double value, const char* unit, double budget) {
  if (budget == 0) {
    std::printf("%-34s %10.1f %s\n", what, value, unit);
    return true;
  }
  std::printf("%-34s %10.1f %-3s  %.2f of the budget, %.0f %s\n", what, value,
              unit, value / budget, budget, unit);
  return value <= budget;
}

// What a controller must not hold more and more of.
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

// A check every second, or as soon as the one before is over. False if one did
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

// Processes that have the servers of a spec among them.
class Fleets {
 public:
  // All dial at once.
  Fleets(const Flags& flags, const ClusterSpec& spec, const Folder& folder,
         const std::vector<std::string>& arguments) {
    for (int fleet = 0; fleet < flags.fleets; ++fleet) {
      ClusterSpec own = spec;
      own.clear_servers();
      for (int i = fleet; i < spec.servers_size(); i += flags.fleets) {
        *own.add_servers() = spec.servers(i);
      }
      sizes_.push_back(own.servers_size());
      const std::string file =
          folder.Write(absl::StrCat("fleet", fleet, ".yaml"), SpecToYaml(own));
      std::vector<std::string> command = {flags.fleet, "--spec", file};
      command.insert(command.end(), arguments.begin(), arguments.end());
      fleets_.push_back(std::make_unique<Process>(command));
    }
  }

  // Of the one that took longest; certificates are made before anybody dials.
  absl::StatusOr<int> WaitAttachedMs() {
    int longest = 0;
    for (size_t i = 0; i < fleets_.size(); ++i) {
      std::string told;
      const absl::Status status = fleets_[i]->WaitForErrorLine(
          absl::StrCat("attached ", sizes_[i], " hosts"), &told,
          absl::Minutes(5));
      if (!status.ok()) return status;
      int attach_ms = 0;
      if (!RE2::PartialMatch(told, "attach (\\d+) ms", &attach_ms)) {
        return absl::InternalError(told);
      }
      longest = std::max(longest, attach_ms);
    }
    return longest;
  }
  absl::Status WaitAttachedAgain() {
    for (const auto& fleet : fleets_) {
      const absl::Status status =
          fleet->WaitForError("attached again", absl::Minutes(5));
      if (!status.ok()) return status;
    }
    return absl::OkStatus();
  }
  // Ends them. What they told, if they did not lose each host just once.
  std::string EndLostOnce() {
    std::string other;
    for (const auto& fleet : fleets_) fleet->Signal(SIGTERM);
    for (size_t i = 0; i < fleets_.size(); ++i) {
      const std::string told = fleets_[i]->Wait().standard_error;
      if (!absl::StrContains(told, absl::StrCat("lost ", sizes_[i], " in all")))
        other += told;
    }
    return other;
  }

 private:
  std::vector<int> sizes_;
  std::vector<std::unique_ptr<Process>> fleets_;
};

int Run(const Flags& flags) {
  rlimit limit = {};
  getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);

  const Folder folder;
  const auto authority = TestAuthority::Create();
  const TlsPem self = authority->Issue({"spiffe://test/controller"});
  const std::string ca = folder.Write("ca.crt", authority->certificate_pem());
  const std::string ca_key = folder.Write("ca.key", authority->KeyPem());
  const ClusterSpec all = MakeSpec(flags.product, "", flags.servers);
  const std::string spec = folder.Write("cluster.yaml", SpecToYaml(all));
  const std::string log = folder.path() + "/log";
  const std::string port_file = folder.path() + "/port";

  // Its log goes to a file: nobody reads a pipe while the hosts attach.
  std::vector<std::string> command = {"/bin/bash",
                                      "-c",
                                      "exec \"$@\" 2>>\"$0\"",
                                      log,
                                      flags.controller,
                                      "--cluster",
                                      "test",
                                      "--spec",
                                      spec,
                                      "--port-file",
                                      port_file,
                                      "--state",
                                      folder.path() + "/state",
                                      "--ca",
                                      ca,
                                      "--cert",
                                      folder.Write("own.crt", self.certificate),
                                      "--key",
                                      folder.Write("own.key", self.key),
                                      "--listen",
                                      "127.0.0.1:0"};
  auto controller = std::make_unique<Process>(command);
  for (int i = 0; i < 200 && ReadFile(port_file).empty(); ++i) {
    absl::SleepFor(absl::Milliseconds(100));
  }
  const double idle_megabytes = PeakMegabytes(controller->pid());
  std::string port = ReadFile(port_file);
  port.erase(port.find_last_not_of('\n') + 1);
  const std::string address = absl::StrCat("127.0.0.1:", port);

  Fleets fleets(flags, all, folder,
                {"--controller", address, "--cluster", "test", "--ca", ca,
                 "--ca-key", ca_key});
  const absl::StatusOr<int> attach_ms = fleets.WaitAttachedMs();
  if (!attach_ms.ok()) {
    std::fprintf(stderr, "%s\n", attach_ms.status().ToString().c_str());
    return 2;
  }
  const double attach_cpu = CpuSeconds(controller->pid());
  const double attached_megabytes = PeakMegabytes(controller->pid());

  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(-1);
  const auto client = Controller::NewStub(grpc::CreateCustomChannel(
      address,
      MakeChannelCredentialsFromPem(
          authority->Issue({"spiffe://test/user/bench"}), "test"),
      arguments));
  std::vector<double> check_ms;
  for (int i = 0; i < flags.checks; ++i) {
    check_ms.push_back(
        absl::ToDoubleMilliseconds(TimeCheck(client.get(), flags.servers)));
  }
  std::sort(check_ms.begin(), check_ms.end());
  const bool soaked = flags.soak_minutes == 0 ||
                      Soak(flags, client.get(), controller->pid(), log);

  const double most_megabytes = PeakMegabytes(controller->pid());
  command.back() = address;
  controller->Signal(SIGKILL);
  controller->Wait();
  const absl::Time killed = absl::Now();
  controller = std::make_unique<Process>(command);
  const absl::Status status = fleets.WaitAttachedAgain();
  if (!status.ok()) {
    std::fprintf(stderr, "%s\n", status.ToString().c_str());
    return 2;
  }
  const absl::Duration back = absl::Now() - killed;
  const std::string lost = fleets.EndLostOnce();

  const double scale = flags.servers / 1152.0;
  const bool is_large = flags.servers >= 10000;
  std::printf("%d hosts of %s over mutual TLS, both ends on this machine\n",
              flags.servers, flags.product.c_str());
  bool good = Print("attach", *attach_ms / 1000.0, "s", is_large ? 60 : 0);
  Print("controller's CPU for it, a host", attach_cpu * 1000 / flags.servers,
        "ms", 0);
  good &= Print("back after kill -9", absl::ToDoubleSeconds(back), "s",
                is_large ? 75 : 0);
  std::printf("lost but by the kill: %s\n",
              lost.empty() ? "none" : lost.c_str());
  good &= lost.empty() && soaked;
  good &= Print("check, fastest", check_ms.front(), "ms", 1000 * scale);
  good &=
      Print("check, median", check_ms[check_ms.size() / 2], "ms", 1000 * scale);
  good &= Print("check, slowest", check_ms.back(), "ms", 1000 * scale);
  Print("controller, before any host", idle_megabytes, "MB", 0);
  Print("controller, before any check", attached_megabytes, "MB", 0);
  good &= Print("controller, most memory", most_megabytes, "MB",
                is_large ? 1500 : 200 * scale);
  return good ? 0 : 1;
}

}  // namespace
}  // namespace clusterd

int main(int argc, char** argv) {
  clusterd::Flags flags;
  CLI::App app("Measures a controller with a whole cluster attached.",
               "fleet_bench");
  app.add_option("controller", flags.controller, "Path of clusterd-controller")
      ->required();
  app.add_option("fleet", flags.fleet, "Path of fleet")->required();
  app.add_option("--servers", flags.servers)->capture_default_str();
  app.add_option("--checks", flags.checks)->capture_default_str();
  app.add_option("--product", flags.product)->capture_default_str();
  app.add_option("--fleets", flags.fleets, "Processes that have the servers")
      ->check(CLI::Range(1, 64))
      ->capture_default_str();
  app.add_option("--soak", flags.soak_minutes,
                 "Minutes of a check every second");
  CLI11_PARSE(app, argc, argv);
  return clusterd::Run(flags);
}
