#include "daemon/host/machine_observer.h"

#include <algorithm>
#include <atomic>
#include <future>
#include <utility>
#include <vector>

#include "config/hccl/job_ports.h"
#include "config/values/network_namespace.h"
#include "config/values/status_macros.h"
#include "config/words/message.h"
#include "config/words/quoted_text.h"
#include "daemon/host/ascend950/dialect.h"
#include "daemon/host/device_users.h"
#include "daemon/host/files/file_reader.h"
#include "daemon/host/firewall/firewall_observer.h"
#include "daemon/host/hccn/hccn_answers.h"
#include "daemon/host/hccn/hccn_conf.h"
#include "daemon/host/hccn_query/query_facts.h"
#include "daemon/host/identity_observer.h"
#include "daemon/host/kernel/kernel_observer.h"
#include "daemon/host/launch_observer.h"
#include "daemon/host/npu_smi/device_ids.h"
#include "daemon/host/sockets/socket_observer.h"
#include "daemon/host/ssh/ssh_observer.h"

namespace clusterd {
namespace {

// Number of devices queried in parallel.
constexpr int kMaxParallelDevices = 16;

// Runs work on other threads, or on this one if there are no free threads.
using Running = std::vector<std::future<void>>;

void Finish(Running* running) {
  for (std::future<void>& each : *running) each.get();
}

// Returns the ports whose sockets are requested.
absl::StatusOr<PortSet> AskedPorts(const ObserveRequest& request) {
  PortSet ports;
  for (const ObserveRequest::PortRange& range : request.socket_ports()) {
    if (range.first() > range.last() || range.last() > 65535) {
      return InvalidWords("fact-port-range", range.first(), range.last());
    }
    ports.Add(range.first(), range.last());
  }
  return ports;
}

// The status for an unreadable certificate date, after the switch was printed.
constexpr int kTlsDateStatus = 8;

// Queries what a change can set, except the switch.
void AskSettings(HccnSession* session, DeviceFacts* facts) {
  FillAddress(session->Ask("-ip"), facts->mutable_address());
  FillGateway(session->Ask("-gateway"), facts->mutable_gateway());
  FillDetectAddress(session->Ask("-netdetect"),
                    facts->mutable_detect_address());
}

TlsFact ReadTls(uint32_t id, HccnAnswer answer) {
  const auto parse =
      [id](absl::string_view output) -> absl::StatusOr<TlsFact::Switch> {
    ASSIGN_OR_RETURN(const bool enabled, ParseHccnTls(output, id));
    return MakeTlsSwitch(enabled, "hccn_tool -tls -g");
  };
  // With an unreadable certificate date the command fails after the wanted
  // line.
  if (answer.failure == HccnFailure::kOther &&
      answer.exit_status == kTlsDateStatus && parse(answer.output).ok()) {
    answer.missing.reset();
  }
  TlsFact fact;
  FillHccnFact(answer, parse, &fact);
  if (!fact.has_value()) return fact;
  for (TlsCertificate& each :
       ParseHccnCertificates(answer.output, answer.errors, id)) {
    *fact.mutable_value()->add_certificates() = std::move(each);
  }
  return fact;
}

// Returns the switch that hccn.conf sets.
TlsFact TlsFromFile(uint32_t slot, const std::string& value) {
  TlsFact fact;
  if (value == "0" || value == "1") {
    *fact.mutable_value() = MakeTlsSwitch(value == "1", "/etc/hccn.conf");
  } else {
    SetMissing(Missing::UNREADABLE,
               Worded("fact-tls-value", slot, QuotedText(value)), &fact);
  }
  return fact;
}

// The suffix of a device's lines of hccn.conf, and the parser of its answer.
struct TlsReader {
  uint32_t slot;
  std::function<TlsFact(const HccnAnswer&)> read;
};

// Huawei's checker also treats a device without a certificate as one without
// TLS (msprechecker of MSIT, tls check).
TlsFact ReadAnswer(const TlsReader& reader, const HccnAnswer& answer) {
  if (answer.missing || answer.failure != HccnFailure::kNoCertificate) {
    return reader.read(answer);
  }
  TlsFact fact;
  *fact.mutable_value() = MakeTlsSwitch(false, "hccn_tool: no certificate");
  fact.mutable_value()->set_no_certificate(true);
  return fact;
}

TlsFact AskOverCopy(const TlsReader& reader, const TlsAsking& tls,
                    HccnSession* session) {
  absl::StatusOr<PrivateFile> copy = tls.copy_conf();
  if (!copy.ok()) return MissingFact<TlsFact>(MissingFor(copy.status()));
  return ReadAnswer(reader, session->AskOverCopy("-tls", *std::move(copy)));
}

TlsFact LearnTls(const TlsReader& reader, const HccnConfFact& conf,
                 const TlsAsking& tls, HccnSession* session) {
  if (!conf.has_value()) {
    return MissingFact<TlsFact>(
        MakeMissing(Missing::NOT_QUERIED,
                    Worded("fact-tls-would-write", DetailOf(conf.missing()))));
  }
  const std::string* in_file =
      FindHccnConfValue(conf.value(), "tls_enable", reader.slot);
  if (in_file == nullptr) return AskOverCopy(reader, tls, session);
  if (!tls.live) return TlsFromFile(reader.slot, *in_file);
  TlsFact fact = AskOverCopy(reader, tls, session);
  // This query waits for the file's lock, but writes nothing.
  if (fact.missing().reason() == Missing::NOT_QUERIED) {
    fact = ReadAnswer(reader, session->Ask("-tls"));
  }
  if (fact.has_value()) fact.mutable_value()->set_in_file(*in_file);
  return fact;
}

TlsFact LearnClassicTls(uint32_t id, const HccnConfFact& conf,
                        const TlsAsking& tls, HccnSession* session) {
  const auto read = [id](const HccnAnswer& answer) {
    return ReadTls(id, answer);
  };
  return LearnTls({id, read}, conf, tls, session);
}

DeviceFacts ObserveAscend950(uint32_t id, const HccnConfFact& conf,
                             TlsAsking tls, HccnSession* session) {
  ascend950::DeviceReading reading = ascend950::ReadDevice(id, session);
  DeviceFacts& facts = reading.facts;
  SetMissing(Missing::NOT_SUPPORTED, Worded("fact-speed-950"),
             facts.mutable_speed_mbps());
  // Rules compare the address with the lines that end in the device's id.
  if (reading.slot != id) {
    SetMissing(Missing::NOT_SUPPORTED,
               Worded("fact-bond-slot", id, reading.slot),
               facts.mutable_address());
  }
  // The key in the file may be another device's.
  if (!reading.slot_known) tls.live = false;
  const auto read = [id](const HccnAnswer& answer) {
    return ascend950::ReadTls(id, answer);
  };
  *facts.mutable_tls() = LearnTls({reading.slot, read}, conf, tls, session);
  AskLosslessSettings(session, &facts);
  AskTraffic(id, session, &facts);
  return facts;
}

// Sends a query that older tools do not know.
HccnAnswer AskOptional(absl::string_view query, HccnSession* session) {
  HccnAnswer answer = session->Ask(query);
  if (answer.failure == HccnFailure::kWrongCommandLine && answer.missing) {
    answer.missing->set_reason(Missing::NOT_SUPPORTED);
  }
  return answer;
}

void AskSpeed(HccnSession* session, NumberFact* fact) {
  const auto parse = [](absl::string_view output) -> absl::StatusOr<uint32_t> {
    ASSIGN_OR_RETURN(const auto speed, ParseHccnSpeed(output));
    return speed.value_or(0);
  };
  FillHccnFact(AskOptional("-speed", session), parse, fact);
  if (fact->has_value() && fact->value() == 0) {
    SetMissing(Missing::NOT_SUPPORTED, Worded("fact-speed-unknown"), fact);
  }
}

DeviceFacts ObserveClassic(uint32_t id, const HccnConfFact& conf,
                           const TlsAsking& tls, HccnSession* session) {
  DeviceFacts facts;
  facts.set_id(id);
  AskSettings(session, &facts);
  if (facts.address().has_value() &&
      facts.address().value().settings().empty()) {
    FillIpv6Address(
        session->AskWith({"-i", absl::StrCat(id), "-ip", "-inet6", "-g"}),
        facts.mutable_ipv6_address());
  }
  AskNetHealth(session, facts.mutable_net_health());
  FillHccnFact(session->Ask("-link"), ParseHccnLink, facts.mutable_link());
  FillHccnFact(session->Ask("-lldp"), ParseHccnLldp, facts.mutable_lldp());
  FillHccnFact(session->Ask("-mtu"), ParseHccnMtu, facts.mutable_mtu());
  FillHccnFact(session->AskWith({"-i", absl::StrCat(id), "-cfg", "status"}),
               ParseHccnRecovery, facts.mutable_recovery());
  AskSpeed(session, facts.mutable_speed_mbps());
  *facts.mutable_tls() = LearnClassicTls(id, conf, tls, session);
  AskLosslessSettings(session, &facts);
  AskTraffic(id, session, &facts);
  return facts;
}

}  // namespace

// Fills the facts of the tool and, in parallel, of all facts->device_ids().
void MachineObserver::ObserveDevices(const ObserveRequest& request,
                                     const TimeBudget& budget,
                                     HostFacts* facts) {
  const NpuToolFacts::Generation generation =
      request.generation() == NpuToolFacts::GENERATION_UNSPECIFIED
          ? NpuToolFacts::CLASSIC
          : request.generation();
  const absl::StatusOr<std::string> tool = LocateHccnTool(paths_);
  SetFact(tool, facts->mutable_hccn_tool()->mutable_path());
  const DeviceIdsFact::Ids& ids = facts->device_ids().value();
  for (const uint32_t id : ids.ids()) facts->add_devices()->set_id(id);

  TlsAsking tls;
  tls.copy_conf = [this] { return CopyHccnConf(files_, clock_); };
  tls.live = request.ask_tls();
  std::atomic<int> next{0};
  std::atomic<NpuToolFacts::Generation> found{generation};
  const auto work = [&] {
    for (int i; (i = next.fetch_add(1)) < facts->devices_size();) {
      DeviceFacts* device = facts->mutable_devices(i);
      HccnSession session(tool, generation, device->id(), runner_, clock_,
                          &budget, locks_);
      session.Skip(request.skip_queries());
      *device = ObserveDevice(device->id(), facts->hccn_conf(), tls, &session);
      *device->mutable_counter_rises() =
          AskCounters(device->id(), &session, clock_, &counters_);
      if (request.ask_vnic()) *device->mutable_vnic() = ObserveVnic(&session);
      if (session.generation() != generation) found = session.generation();
    }
  };
  Running running;
  const int count = std::min(facts->devices_size(), kMaxParallelDevices);
  for (int i = 0; i < count; ++i) running.push_back(std::async(work));
  Finish(&running);
  facts->mutable_hccn_tool()->set_generation(found);
}

// Reads the facts of another network namespace.
HostFacts MachineObserver::ObserveNamespace(const ObserveRequest& request,
                                            const TimeBudget& budget) const {
  const NetworkNamespace& target = request.network_namespace();
  const absl::StatusOr<OpenNetworkNamespace> opened =
      FindNetworkNamespace({paths_, runner_, &budget}, target);
  HostFacts facts;
  if (opened.ok()) {
    facts =
        ReadOpenNamespace(*opened, target, files_, AskedPorts(request), budget);
    // Shows if that container's job occupies its ports.
    if (!facts.has_missing()) {
      *facts.mutable_npu_processes() = ReadNpuProcesses(paths_, budget);
    }
    return facts;
  }
  facts.set_network_namespace(NetworkNamespaceText(target));
  Missing missing = MissingFor(opened.status());
  // The reason must not reveal which files this host has.
  if (target.has_path()) missing.set_reason(Missing::ABSENT);
  SetMissing(missing, &facts);
  return facts;
}

HostFacts MachineObserver::ObserveHost(const std::string& name,
                                       const ObserveRequest& request,
                                       const TimeBudget& budget) {
  HostFacts facts;
  // Every thread writes to its own message, made before it starts.
  IdentityFacts* identity = facts.mutable_identity();
  KernelFacts* kernel = facts.mutable_kernel();
  SocketsFact* sockets = facts.mutable_sockets();
  FirewallFacts* ufw = facts.mutable_ufw();
  FirewallFacts* firewalld = facts.mutable_firewalld();
  DropRulesFact* drop_rules = facts.mutable_drop_rules();
  VersionFacts* versions = facts.mutable_versions();
  NpuProcessesFact* processes = facts.mutable_npu_processes();
  HostFacts launch;
  *facts.mutable_hccn_conf() = ReadHccnConf(files_, clock_);
  const HostAccess host{paths_, runner_, &budget};
  Running running;
  running.push_back(std::async([&host, ufw] { *ufw = ReadUfw(host); }));
  running.push_back(std::async([&host, memory = facts.mutable_memory()] {
    *memory = ReadHostMemory(host);
  }));
  running.push_back(std::async([&host, &request, &launch, drop_rules] {
    ObserveLaunch(host, request, &launch);
    *drop_rules = ReadDropRules(host, launch.interfaces());
  }));
  running.push_back(
      std::async([&host, firewalld] { *firewalld = ReadFirewalld(host); }));
  running.push_back(std::async([this, &budget, processes] {
    *processes = ReadNpuProcesses(paths_, budget);
  }));
  running.push_back(std::async([&, kernel, identity, versions, sockets] {
    *kernel = ReadKernel(files_);
    *identity = ReadIdentity(files_);
    *versions = ReadVersions(files_);
    absl::StatusOr<PortSet> ports = AskedPorts(request);
    if (!ports.ok()) {
      SetMissing(Missing::NOT_QUERIED, MessageWords(ports.status()), sockets);
    } else if (!ports->empty()) {
      // The controller cannot know the ports that login files assign to HCCL.
      ports->Add(PortsOfLogins(
          ReadLoginEnvironment(files_).value_or(EnvironmentFact::Variables())));
      *sockets = ReadSockets(files_, *ports, budget);
    }
  }));
  if (request.has_ssh()) {
    running.push_back(std::async([&, ssh = facts.mutable_ssh()] {
      const SshPlace here = {
          name, IsContainer(files_).value_or(false),
          static_cast<uint64_t>(absl::ToUnixSeconds(clock_->Now()) / 60)};
      *ssh = ReadSsh(host, request.ssh(), here);
    }));
  }
  if (request.has_python()) {
    running.push_back(std::async([&, python = facts.mutable_python()] {
      *python = ReadPython(host, request.python());
    }));
  }
  *facts.mutable_device_ids() = ReadDeviceIds(host);
  // npu-smi runs in parallel, into its own messages.
  const DeviceIdsFact::Ids ids = facts.device_ids().value();
  std::vector<DeviceFacts> chips;
  std::vector<uint32_t> npu_ids;
  running.push_back(std::async([&] {
    chips = ReadChips(host, request, ids, &npu_smi_locks_, &npu_ids);
  }));
  ObserveDevices(request, budget, &facts);
  Finish(&running);
  for (size_t i = 0; i < chips.size(); ++i) {
    facts.mutable_devices(i)->MergeFrom(chips[i]);
  }
  if (facts.device_ids().has_value()) {
    facts.mutable_device_ids()->mutable_value()->mutable_npu_ids()->Assign(
        npu_ids.begin(), npu_ids.end());
  }
  facts.MergeFrom(launch);
  *facts.mutable_device_owners() =
      ReadDeviceOwners(files_, facts.npu_processes());
  return facts;
}

HostFacts MachineObserver::ObserveFor(const std::string& host,
                                      const ObserveRequest& request,
                                      const Asker& asker) {
  const TimeBudget budget = TimeBudget::ForRequest(clock_, request, asker);
  const absl::Time began = clock_->Now();
  HostFacts facts = request.has_network_namespace()
                        ? ObserveNamespace(request, budget)
                        : ObserveHost(host, request, budget);
  // The request has no generation, and the tool reported the other one.
  if (request.generation() == NpuToolFacts::GENERATION_UNSPECIFIED &&
      facts.hccn_tool().generation() == NpuToolFacts::ASCEND_950) {
    ObserveRequest again = request;
    again.set_generation(NpuToolFacts::ASCEND_950);
    facts = ObserveHost(host, again, budget);
  }
  facts.set_host(host);
  facts.set_observed_at_ms(absl::ToUnixMillis(began));
  facts.set_simulation(ReadSimulation(files_));
  facts.set_elapsed_ms(absl::ToInt64Milliseconds(budget.Passed()));
  return facts;
}

HostFacts ReadOpenNamespace(const OpenNetworkNamespace& opened,
                            const NetworkNamespace& target,
                            const FileReader& files,
                            const absl::StatusOr<PortSet>& ports,
                            const TimeBudget& budget) {
  HostFacts facts;
  facts.set_network_namespace(NetworkNamespaceText(target));
  absl::StatusOr<KernelFacts> kernel = ReadKernelIn(opened, files);
  if (!kernel.ok()) {
    SetMissing(MissingFor(kernel.status()), &facts);
    return facts;
  }
  *facts.mutable_kernel() = *std::move(kernel);
  *facts.mutable_identity()->mutable_boot_id() = ReadBootId(files);
  if (!ports.ok()) {
    SetMissing(Missing::NOT_QUERIED, MessageWords(ports.status()),
               facts.mutable_sockets());
  } else if (!ports->empty()) {
    *facts.mutable_sockets() = ReadSocketsIn(opened, files, *ports, budget);
  }
  return facts;
}

DeviceFacts ObserveDevice(uint32_t id, const HccnConfFact& conf,
                          const TlsAsking& tls, HccnSession* session) {
  return session->generation() == NpuToolFacts::ASCEND_950
             ? ObserveAscend950(id, conf, tls, session)
             : ObserveClassic(id, conf, tls, session);
}

VnicFact ObserveVnic(HccnSession* session) {
  VnicFact fact;
  FillHccnFact(AskOptional("-vnic", session), ParseHccnVnic, &fact);
  return fact;
}

DeviceFacts ObserveDeviceSettings(uint32_t id, const HccnConfFact& conf,
                                  const TlsAsking& tls, HccnSession* session) {
  DeviceFacts facts;
  facts.set_id(id);
  AskSettings(session, &facts);
  FillHccnFact(session->Ask("-mtu"), ParseHccnMtu, facts.mutable_mtu());
  *facts.mutable_tls() = LearnClassicTls(id, conf, tls, session);
  AskLosslessSettings(session, &facts);
  return facts;
}

}  // namespace clusterd
