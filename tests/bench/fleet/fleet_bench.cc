// Measures a controller with a whole cluster attached over mutual TLS: how long
// it takes until all hosts are there, how long a check of all of them takes for
// a client, how long until all are back after the controller was killed, and
// how much memory it has used at most. Real programs, simulated hosts, both
// ends on this machine.
//   fleet_bench CONTROLLER FLEET [--servers N] [--checks N] [--product P]
// Each figure is printed with its ratio to its budget; the exit status is 1 if
// one is over, or if a check did not pass.
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "CLI/CLI.hpp"
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

double PeakMegabytes(pid_t pid) {
  const std::string status = ReadFile(absl::StrCat("/proc/", pid, "/status"));
  for (const absl::string_view line : absl::StrSplit(status, '\n')) {
    if (!absl::StartsWith(line, "VmHWM:")) continue;
    const std::vector<absl::string_view> words =
        absl::StrSplit(line, absl::ByAnyChar(" \t"), absl::SkipEmpty());
    double kilobytes = 0;
    if (words.size() > 1 && absl::SimpleAtod(words[1], &kilobytes)) {
      return kilobytes / 1024;
    }
  }
  return 0;
}

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
  const std::string spec = folder.Write(
      "cluster.yaml", SpecToYaml(MakeSpec(flags.product, "", flags.servers)));
  const std::string port_file = folder.path() + "/port";

  // Its log goes to a file: nobody reads a pipe while the hosts attach.
  std::vector<std::string> command = {"/bin/bash",
                                      "-c",
                                      "exec \"$@\" 2>>\"$0\"",
                                      folder.path() + "/log",
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

  Process fleet({flags.fleet, "--controller", address, "--cluster", "test",
                 "--spec", spec, "--ca", ca, "--ca-key", ca_key});
  std::string told;
  absl::Status status =
      fleet.WaitForErrorLine(absl::StrCat("attached ", flags.servers, " hosts"),
                             &told, absl::Minutes(5));
  // Certificates are made before anybody dials.
  int attach_ms = 0;
  const bool is_told = RE2::PartialMatch(told, "attach (\\d+) ms", &attach_ms);
  if (!status.ok() || !is_told) {
    std::fprintf(stderr, "%s\n", status.ToString().c_str());
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

  const double most_megabytes = PeakMegabytes(controller->pid());
  command.back() = address;
  controller->Signal(SIGKILL);
  controller->Wait();
  const absl::Time killed = absl::Now();
  controller = std::make_unique<Process>(command);
  status = fleet.WaitForError("attached again", absl::Minutes(5));
  if (!status.ok()) {
    std::fprintf(stderr, "%s\n", status.ToString().c_str());
    return 2;
  }
  const absl::Duration back = absl::Now() - killed;
  fleet.Signal(SIGTERM);
  told = fleet.Wait().standard_error;
  const bool lost_once =
      absl::StrContains(told, absl::StrCat("lost ", flags.servers, " in all"));

  const double scale = flags.servers / 1152.0;
  const bool is_large = flags.servers >= 10000;
  std::printf("%d hosts of %s over mutual TLS, both ends on this machine\n",
              flags.servers, flags.product.c_str());
  bool good = Print("attach", attach_ms / 1000.0, "s", is_large ? 60 : 0);
  Print("controller's CPU for it, a host", attach_cpu * 1000 / flags.servers,
        "ms", 0);
  good &= Print("back after kill -9", absl::ToDoubleSeconds(back), "s",
                is_large ? 75 : 0);
  std::printf("lost but by the kill: %s\n", lost_once ? "none" : told.c_str());
  good &= lost_once;
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
  CLI11_PARSE(app, argc, argv);
  return clusterd::Run(flags);
}
