#include "daemon/host/machine_observer.h"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <functional>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "config/spec/port_set.h"
#include "daemon/host/device_ids.h"
#include "daemon/host/device_observer.h"
#include "daemon/host/device_turns.h"
#include "daemon/host/file_reader.h"
#include "daemon/host/firewall_observer.h"
#include "daemon/host/hccn_tool.h"
#include "daemon/host/identity_observer.h"
#include "daemon/host/kernel_observer.h"
#include "daemon/host/missing.h"
#include "daemon/host/namespace_observer.h"
#include "daemon/host/socket_observer.h"
#include "daemon/host/time_budget.h"

namespace clusterd {
namespace {

// Threads that end before their owner does.
class ThreadGroup {
 public:
  ThreadGroup() = default;
  ~ThreadGroup() {
    for (std::thread& thread : threads_) thread.join();
  }
  ThreadGroup(const ThreadGroup&) = delete;
  ThreadGroup& operator=(const ThreadGroup&) = delete;

  // On this thread, before it returns, if no other can be had.
  void Run(std::function<void()> work) {
    try {
      threads_.emplace_back(work);
    } catch (const std::system_error&) {
      work();
    }
  }

 private:
  std::vector<std::thread> threads_;
};

// The ports whose sockets are asked for; else why they cannot be.
absl::StatusOr<PortSet> AskedPorts(const ObserveRequest& request) {
  PortSet ports;
  for (const ObserveRequest::PortRange& range : request.socket_ports()) {
    if (range.first() > range.last() || range.last() > 65535) {
      return absl::InvalidArgumentError(
          absl::StrCat("ports ", range.first(), "-", range.last(),
                       " of the request are no range"));
    }
    ports.Add(range.first(), range.last());
  }
  return ports;
}

void ReadSocketsIfAsked(const FileReader& files, const ObserveRequest& request,
                        const TimeBudget& budget, SocketsFact* fact) {
  if (request.socket_ports().empty()) return;
  const absl::StatusOr<PortSet> ports = AskedPorts(request);
  if (ports.ok()) {
    *fact = ReadSockets(files, *ports, budget);
  } else {
    SetMissing(MakeMissing(Missing::NOT_QUERIED, ports.status().message()),
               fact);
  }
}

}  // namespace

struct MachineObserver::Parts {
  HostPaths paths;
  CommandRunner* runner;
  Clock* clock;
  ObserverOptions options;
  FileReader files;
  DeviceTurns turns;

  Parts(HostPaths paths_in, CommandRunner* runner_in, Clock* clock_in,
        ObserverOptions options_in)
      : paths(std::move(paths_in)),
        runner(runner_in),
        clock(clock_in),
        options(std::move(options_in)),
        files(paths.root) {}

  // What `request` and this host let devices be asked about TLS.
  TlsAsking AskingOf(const ObserveRequest& request) const {
    TlsAsking tls;
    tls.live = request.ask_tls();
    if (!request.allow_tls_query()) return tls;
    tls.vetoed = options.why_no_conf_write ? options.why_no_conf_write()
                                           : "nothing here allows that";
    tls.may_write = tls.vetoed.empty();
    return tls;
  }

  // Fills the tool's facts and, in parallel, those of every device in
  // facts->device_ids().
  void ObserveDevices(const ObserveRequest& request, const TimeBudget& budget,
                      HostFacts* facts) {
    const NpuToolFacts::Generation generation =
        request.generation() == NpuToolFacts::GENERATION_UNSPECIFIED
            ? NpuToolFacts::CLASSIC
            : request.generation();
    const absl::StatusOr<std::string> tool = LocateHccnTool(paths);
    if (tool.ok()) {
      facts->mutable_hccn_tool()->mutable_path()->set_value(*tool);
    } else {
      SetMissing(MissingFor(tool.status()),
                 facts->mutable_hccn_tool()->mutable_path());
    }
    const DeviceIdsFact::Ids& ids = facts->device_ids().value();
    for (const uint32_t id : ids.ids()) facts->add_devices()->set_id(id);

    const TlsAsking tls = AskingOf(request);
    std::atomic<int> next{0};
    std::atomic<NpuToolFacts::Generation> found{generation};
    const auto work = [&] {
      for (int i; (i = next.fetch_add(1)) < facts->devices_size();) {
        DeviceFacts* device = facts->mutable_devices(i);
        HccnSession session(tool, generation, device->id(), runner, clock,
                            &budget, &turns);
        *device =
            ObserveDevice(device->id(), facts->hccn_conf(), tls, &session);
        if (session.is_classic_tool()) found = NpuToolFacts::CLASSIC;
        if (session.is_ascend950_tool()) found = NpuToolFacts::ASCEND_950;
      }
    };
    {
      const int count = std::min(facts->devices_size(),
                                 std::max(options.max_parallel_devices, 1));
      ThreadGroup threads;
      for (int i = 0; i < count; ++i) threads.Run(work);
    }
    facts->mutable_hccn_tool()->set_generation(found);
    // A plan rests on the file as it is after the keys that were written.
    if (tls.may_write) *facts->mutable_hccn_conf() = ReadHccnConf(files);
  }

  // What another network namespace has of its own.
  HostFacts ObserveNamespace(const ObserveRequest& request,
                             const TimeBudget& budget) {
    const absl::StatusOr<PortSet> ports = AskedPorts(request);
    HostFacts facts =
        ReadNamespace(paths, runner, request.network_namespace(), files,
                      ports.ok() ? *ports : PortSet(), budget);
    if (!ports.ok() && !facts.has_missing()) {
      SetMissing(MakeMissing(Missing::NOT_QUERIED, ports.status().message()),
                 facts.mutable_sockets());
    }
    return facts;
  }
};

MachineObserver::MachineObserver(HostPaths paths, CommandRunner* runner,
                                 Clock* clock, ObserverOptions options)
    : parts_(new Parts(std::move(paths), runner, clock, std::move(options))) {}

MachineObserver::~MachineObserver() = default;

DeviceTurns* MachineObserver::turns() { return &parts_->turns; }

HostFacts MachineObserver::Observe(const std::string& host,
                                   const ObserveRequest& request) {
  const FileReader& files = parts_->files;
  const TimeBudget budget = TimeBudget::ForRequest(parts_->clock, request);
  const absl::Time began = parts_->clock->Now();
  HostFacts facts;
  if (request.has_network_namespace()) {
    facts = parts_->ObserveNamespace(request, budget);
  }
  facts.set_host(host);
  facts.set_observed_at_ms(absl::ToUnixMillis(began));
  facts.set_simulation(ReadSimulation(files));
  if (request.has_network_namespace()) {
    facts.set_elapsed_ms(absl::ToInt64Milliseconds(budget.Passed()));
    return facts;
  }
  // Every thread writes to a message of its own, made here.
  IdentityFacts* identity = facts.mutable_identity();
  KernelFacts* kernel = facts.mutable_kernel();
  SocketsFact* sockets = facts.mutable_sockets();
  FirewallFacts* ufw = facts.mutable_ufw();
  FirewallFacts* firewalld = facts.mutable_firewalld();
  VersionFacts* versions = facts.mutable_versions();
  *facts.mutable_hccn_conf() = ReadHccnConf(files);
  {
    ThreadGroup threads;
    threads.Run([&] { *ufw = ReadUfw(parts_->paths, parts_->runner, budget); });
    threads.Run([&] {
      *firewalld = ReadFirewalld(parts_->paths, parts_->runner, budget);
    });
    threads.Run([&] {
      *kernel = ReadKernel(files);
      *identity = ReadIdentity(files);
      *versions = ReadVersions(files);
      ReadSocketsIfAsked(files, request, budget, sockets);
    });
    *facts.mutable_device_ids() =
        ReadDeviceIds(parts_->paths, parts_->runner, budget);
    parts_->ObserveDevices(request, budget, &facts);
  }
  facts.set_elapsed_ms(absl::ToInt64Milliseconds(budget.Passed()));
  return facts;
}

}  // namespace clusterd
