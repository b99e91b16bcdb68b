// fleet: attaches every server of a spec, simulated in memory, and stays until
// it is signalled to stop. With --changes they are as another cluster left them
// and take changes; otherwise they are healthy and take none.
#include <fstream>
#include <iostream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "config/spec/spec_loader.h"
#include "daemon/audit/audit_log.h"
#include "daemon/process/log.h"
#include "daemon/process/scheduler.h"
#include "daemon/process/signals.h"
#include "tests/sim/facts/healthy_facts.h"
#include "tests/sim/fleet/changing_host.h"
#include "tests/sim/fleet/fleet.h"
#include "tests/support/config/test_authority.h"

namespace clusterd {
namespace {

struct Flags {
  std::string controller;
  std::string cluster;
  std::string spec;
  std::string ca;
  std::string ca_key;
  std::string changes;
  std::vector<std::string> without;
  int wait_seconds = 120;
};

std::string ReadFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(file),
                     std::istreambuf_iterator<char>());
}

constexpr size_t kAuditFileBytes = 64 << 20;

// All servers but those that are elsewhere.
Fleet::ChangingHosts MakeChangingHosts(const ClusterSpec& spec,
                                       const Flags& flags, AuditLog* audit,
                                       Log* log) {
  Fleet::ChangingHosts hosts;
  for (int i = 0; i < spec.servers_size(); ++i) {
    if (absl::c_linear_search(flags.without, spec.servers(i).host())) continue;
    hosts.push_back(std::make_unique<ChangingHost>(spec, i, audit, log));
  }
  return hosts;
}

int Run(const Flags& flags) {
  BlockedSignals signals;
  WarningLog log;
  SendGrpcLogTo(&log);
  const auto spec = LoadSpec(flags.spec, ReadFile(flags.spec));
  if (!spec.ok()) {
    std::cerr << spec.status().message() << "\n";
    return 3;
  }
  const auto authority =
      TestAuthority::FromPem(ReadFile(flags.ca), ReadFile(flags.ca_key));
  if (!authority.ok()) {
    std::cerr << flags.ca << ", " << flags.ca_key << ": "
              << authority.status().message() << "\n";
    return 3;
  }
  RaiseDescriptorLimit();
  ThreadScheduler scheduler;
  std::unique_ptr<AuditLog> audit;
  Fleet::ChangingHosts hosts;
  if (!flags.changes.empty()) {
    audit = std::make_unique<AuditLog>(
        absl::StrCat(flags.changes, "/", kAuditFileName),
        AuditLimits{kAuditFileBytes}, "fleet", &scheduler, &log);
    hosts = MakeChangingHosts(*spec, flags, audit.get(), &log);
  }
  const absl::Time start = absl::Now();
  const std::unique_ptr<Fleet> own =
      audit != nullptr
          ? std::make_unique<Fleet>(flags.controller, flags.cluster, hosts,
                                    **authority, &log)
          : std::make_unique<Fleet>(flags.controller, flags.cluster,
                                    MakeHealthyFacts(*spec), **authority, &log);
  Fleet& fleet = *own;
  const absl::Time dialling = absl::Now();
  if (!fleet.WaitAllAttached(absl::Seconds(flags.wait_seconds))) {
    std::cerr << "fleet: only " << fleet.attached() << " of " << fleet.size()
              << " hosts attached in " << flags.wait_seconds << "s (--wait)\n";
    return 2;
  }
  std::cerr << "fleet: attached " << fleet.size() << " hosts, certificates "
            << absl::ToInt64Milliseconds(dialling - start) << " ms, attach "
            << absl::ToInt64Milliseconds(absl::Now() - dialling) << " ms"
            << std::endl;
  // A restart of the controller waits for them to be there again.
  ThreadScheduler watch;
  RunEvery(&watch, absl::Milliseconds(50), [&fleet, reported = 0]() mutable {
    const int lost = fleet.lost();
    if (lost == reported || fleet.attached() != fleet.size()) return;
    reported = lost;
    std::cerr << "fleet: attached again, lost " << lost << " in all"
              << std::endl;
  });
  while (signals.Wait() != DaemonSignal::kStop) continue;
  return 0;
}

}  // namespace
}  // namespace clusterd

int main(int argc, char** argv) {
  clusterd::Flags flags;
  CLI::App app("Attaches every server of a spec, simulated in memory.",
               "fleet");
  app.add_option("--controller", flags.controller, "HOST:PORT")->required();
  app.add_option("--cluster", flags.cluster, "The cluster's name")->required();
  app.add_option("--spec", flags.spec, "cluster.yaml")->required();
  app.add_option("--ca", flags.ca, "PEM certificate of the demo's authority")
      ->required();
  app.add_option("--ca-key", flags.ca_key,
                 "Its PEM key; each host gets a certificate in memory")
      ->required();
  CLI::Option* const changes =
      app.add_option("--changes", flags.changes,
                     "Folder for the audit file of servers that take changes");
  app.add_option("--without", flags.without, "Servers that are elsewhere")
      ->delimiter(',')
      ->needs(changes);
  app.add_option("--wait", flags.wait_seconds,
                 "Seconds within which all must attach")
      ->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  return clusterd::Run(flags);
}
