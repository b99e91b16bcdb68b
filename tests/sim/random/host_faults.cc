// Faults of a host and its chips; faults.cc has the ports.
#include <algorithm>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tests/sim/random/rows.h"

namespace clusterd {
namespace {

void LoseDevice(RandomCluster& cluster, int host, int) {
  HostFacts& facts = cluster.facts[host];
  const uint32_t lost = cluster.spec.servers(host).devices(0).id();
  auto* ids = facts.mutable_device_ids()->mutable_value()->mutable_ids();
  ids->erase(std::remove(ids->begin(), ids->end(), lost), ids->end());
  auto* devices = facts.mutable_devices();
  for (int i = 0; i < devices->size(); ++i) {
    if (devices->Get(i).id() != lost) continue;
    devices->DeleteSubrange(i, 1);
    break;
  }
}

// The tool printed nothing readable about any device.
void SilenceTool(RandomCluster& cluster, int host, int) {
  for (int d = 0; d < cluster.facts[host].devices_size(); ++d) {
    Silenced("UNREADABLE", "status 0 without a word")(cluster, host, d);
  }
}

// The kernel does not accept it as a program.
void BreakTool(RandomCluster& cluster, int host, int) {
  for (int d = 0; d < cluster.facts[host].devices_size(); ++d) {
    Silenced("NOT_PERMITTED", "Exec format error")(cluster, host, d);
  }
}

// npu-smi does not end, or ends without output.
void SilenceNpuSmi(RandomCluster& cluster, int host, int) {
  const char* const reason = cluster.OneIn(2) ? "TIMED_OUT" : "UNREADABLE";
  for (DeviceFacts& device : *cluster.facts[host].mutable_devices()) {
    for (const char* fact :
         {"health", "memory_errors", "compatibility", "hccs", "super_pod"}) {
      Patch(absl::StrCat(fact, " { missing { reason: ", reason,
                         " detail: 'npu-smi' } }"),
            &device);
    }
  }
}

void LoseTool(RandomCluster& cluster, int host, int) {
  HostFacts& facts = cluster.facts[host];
  Patch(
      "hccn_tool { path { missing { reason: ABSENT "
      "detail: '/usr/local/Ascend/driver/tools/hccn_tool' } } }",
      &facts);
  for (int d = 0; d < facts.devices_size(); ++d) {
    Silenced("ABSENT", "no such file")(cluster, host, d);
  }
}

void Silence(RandomCluster& cluster, int host, int) {
  const std::string name = cluster.facts[host].host();
  cluster.facts[host].Clear();
  cluster.facts[host].set_host(name);
  Patch("missing { reason: NO_ANSWER detail: 'never attached' }",
        &cluster.facts[host]);
}

void LoseConf(RandomCluster& cluster, int host, int) {
  Patch(cluster.OneIn(2)
            ? "hccn_conf { missing { reason: ABSENT detail: 'no such file' } }"
            : "hccn_conf { missing { reason: UNREADABLE detail: 'a directory' "
              "} }",
        &cluster.facts[host]);
}

void EmptyConf(RandomCluster& cluster, int host, int) {
  cluster.facts[host].mutable_hccn_conf()->mutable_value()->clear_entries();
}

Make ConfProblem(absl::string_view kind) {
  return [=](RandomCluster& cluster, int host, int) {
    Patch(absl::StrCat("hccn_conf { value { problems { kind: ", kind,
                       " line: 1 text: 'address_0' } } }"),
          &cluster.facts[host]);
  };
}

// A firewall runs where none may, or shuts a needed port.
void RunFirewall(RandomCluster& cluster, int host, int) {
  HostFacts& facts = cluster.facts[host];
  FirewallFacts* firewall =
      cluster.OneIn(2) ? facts.mutable_ufw() : facts.mutable_firewalld();
  firewall->Clear();
  Patch(
      "installed { value: true } active { value: true } "
      "enabled_at_boot { value: true } "
      "allowed { value { ports { first_port: 22 last_port: 22 } } } "
      "allowed_permanently { value {} } other_zones { value {} }",
      firewall);
}

void EndBootValue(RandomCluster& cluster, int host, int) {
  KernelFacts* kernel = cluster.facts[host].mutable_kernel();
  auto* value = kernel->mutable_reserved_ports_at_boot()->mutable_value();
  if (cluster.OneIn(2)) {
    value->clear_assignments();
    return;
  }
  Patch(
      "assignments { file: '/etc/sysctl.d/99-zz-site.conf' line: 3 "
      "value: '8080' }",
      value);
}

// 0: none.
uint32_t PlannedLine(const RandomCluster& cluster, int host) {
  for (const HccnConf::Entry& entry :
       cluster.facts[host].hccn_conf().value().entries()) {
    if (entry.has_device() && cluster.Planned(host, entry.device())) {
      return entry.line();
    }
  }
  return 0;
}

// True if the file has a line of a planned device, so that a rule checks it.
bool HasPlannedLine(const RandomCluster& cluster, int host, int) {
  return PlannedLine(cluster, host) != 0;
}

void RepeatKey(RandomCluster& cluster, int host, int) {
  Patch(
      absl::StrCat("hccn_conf { value { problems { kind: DUPLICATE_KEY line: ",
                   PlannedLine(cluster, host), " text: 'a key' } } }"),
      &cluster.facts[host]);
}

// The one with the address of cluster.yaml.
HostInterface& OwnInterface(RandomCluster& cluster, int host) {
  auto* all = cluster.facts[host].mutable_interfaces()->mutable_value();
  return *absl::c_find_if(*all->mutable_interfaces(), [](const auto& each) {
    return each.name() == "eth0";
  });
}

bool ShowsProcesses(const RandomCluster& cluster, int, int) {
  return !Has(cluster, "job-running") && !Has(cluster, "processes-not-visible");
}

Make HoldDevice(absl::string_view pid) {
  return [pid](RandomCluster& cluster, int host, int device) {
    Patch(absl::StrCat("npu_processes { value { processes { pid: ", pid,
                       " parent: 1 command: 'python3' devices: ",
                       DeviceOf(cluster, host, device).id(), " } } }"),
          &cluster.facts[host]);
  };
}

// Drops one fact of a host, so that `rule` is unknown.
FaultKind NoHostFact(const char* name, absl::string_view text, const char* rule,
                     const char* also = "") {
  return {name, "", kOfHost | kHides, rule, UNKNOWN, also, OnHost(text)};
}

// Needs npu-smi.
FaultKind NoMemoryErrors() {
  FaultKind kind =
      NoFact("no-memory-errors", "memory_errors", "device-health", "");
  kind.applies = Without{"npu-smi-absent"};
  return kind;
}

// A login file of one host asks for RoCE. If cluster.yaml has none, the
// inventory decides which jobs could run.
void AskForRoce(RandomCluster& cluster, int host, int) {
  OnHost(
      "environment { value { variables { name: 'HCCL_INTRA_ROCE_ENABLE' "
      "value: '1' file: '/etc/environment' line: 1 } } }")(cluster, host, -1);
  cluster.warnings["job-super-pod"].insert(-1);
}

}  // namespace

std::vector<FaultKind> HostFaults() {
  return {
      {"somaxconn", "somaxconn=N", kOfHost | kByVote, "listen-backlog", FAIL,
       "backlog-uniform", OnHost("kernel { somaxconn { value: 4 } }")},
      {"syn-backlog", "syn_backlog=N", kOfHost | kByVote, "syn-backlog", FAIL,
       "backlog-uniform",
       OnHost("kernel { tcp_max_syn_backlog { value: 4 } }")},
      {"ports-not-reserved", "reserved_ports=PORTS reserved_ports=none",
       kOfHost | kByVote, "ports-reserved", FAIL, "ports-uniform",
       [](RandomCluster& cluster, int host, int) {
         cluster.facts[host]
             .mutable_kernel()
             ->mutable_reserved_ports()
             ->set_value(cluster.OneIn(2) ? "" : "60002-60031,8080");
       }},
      FailsWhere(
          [](const RandomCluster& c) { return c.spec.kernel().persistent(); },
          {"not-persistent", "persistent=none persistent=stale", kOfHost,
           "sysctl-persistent", WARN, "", EndBootValue}),
      FailsWhere(
          [](const RandomCluster& c) {
            return !c.spec.hccl().base_port_auto();
          },
          {"port-held", "listen=PORT", kOfHost, "ports-free", WARN, "",
           OnHost("sockets { value { sockets { port: 60001 protocol: 'tcp' "
                  "address: '0.0.0.0' state: 'LISTEN' pid: 77 command: 'nginx' "
                  "} } }"),
           Without{"processes-not-visible"}}),
      {"firewall", "ufw=active", kOfHost, "firewall", FAIL, "", RunFirewall},
      {"conf-lost", "hccn_conf=absent hccn_conf=directory", kOfHost | kHides,
       "hccn-conf", FAIL, "container-mounts", LoseConf,
       // With RoCE unused recovery has nothing to restore.
       [](const RandomCluster& cluster, int, int) {
         return !cluster.spec.roce_unused();
       }},
      {"conf-empty", "hccn_conf=empty", kOfHost, "device-ip-persistent", FAIL,
       "gateway-persistent detect-address-persistent mtu-persistent "
       "tls-persistent pfc-persistent dscp-persistent roce-port-persistent",
       EmptyConf,
       [](const RandomCluster& cluster, int host, int device) {
         return !Has(cluster, "dhcp") && IsClassic(cluster, host, device);
       }},
      {"conf-no-newline", "hccn_conf=no-newline", kOfHost, "hccn-conf", FAIL,
       "", ConfProblem("NO_FINAL_NEWLINE")},
      {"conf-crlf", "hccn_conf=crlf", kOfHost, "hccn-conf", FAIL, "",
       ConfProblem("CARRIAGE_RETURN")},
      {"conf-key-twice", "", kOfHost, "hccn-conf", FAIL, "", RepeatKey,
       HasPlannedLine},
      {"conf-route", "", kOfHost, "hccn-conf", FAIL, "",
       ConfProblem("MALFORMED_ROUTE")},
      {"no-tool", "tool=absent", kOfHost | kHides | kAlone, "hccn-tool",
       UNKNOWN, "container-mounts=FAIL", LoseTool},
      {"silent-tool", "tool=silent", kOfHost | kHides | kAlone, "hccn-tool",
       UNKNOWN, "", SilenceTool},
      {"broken-tool", "tool=broken", kOfHost | kHides | kAlone, "hccn-tool",
       UNKNOWN, "", BreakTool},
      {"device-lost", "device=absent-ID", kOfHost | kAlone, "device-count",
       FAIL, "container-mounts", LoseDevice,
       [](const RandomCluster& cluster, int host, int) {
         return cluster.spec.servers(host).devices_size() > 1;
       }},
      {"two-machines", "machine_id=HEX", kOfHost, "host-identity", FAIL, "",
       OnHost("conflict: 'another machine with machine id 4711'")},
      {"certificate-ends", "", kOfHost, "host-identity", WARN, "",
       OnHost("certificate_notice: '2026-01-01 00:00 UTC'")},
      {"planted-root", "", kOfHost, "roots-uniform", FAIL, "",
       OnHost("roots { value { hashes: 'sha256:0' } }")},
      {"silent", "", kOfHost | kHides | kAlone, "host-identity", UNKNOWN, "",
       Silence},
      {"driver", "driver=VERSION", kOfHost | kByVote, "version-uniform", WARN,
       "driver-compat", OnHost("versions { driver { value: '22.0.4' } }")},
      {"firmware", "firmware=VERSION", kOfHost | kByVote, "version-uniform",
       WARN, "driver-compat", OnHost("versions { firmware { value: '1.9' } }")},
      {"cann", "cann=VERSION", kOfHost | kByVote, "version-uniform", WARN,
       "driver-compat", OnHost("versions { cann { value: '7.0.0' } }"),
       [](const RandomCluster& cluster, int, int) {
         return !Has(cluster, "cann-in-containers") &&
                !Has(cluster, "sixteen-ports");
       }},
      {"other-series", "", kOfHost | kByVote, "version-uniform", FAIL, "",
       OnHost("identity { npu_series { value: 'A9' } }"),
       [](const RandomCluster& cluster, int, int) {
         return !ProfileOf(cluster).npu_series.empty();
       }},
      {"drifted", "", kOfHost, "drift", WARN, "",
       OnHost("drift { value { drifts { apply_id: '3fa2c4d5e6f70812' "
              "kind: 'sysctl' change: 'net.core.somaxconn: 4096 -> 65535' "
              "target { target { kernel_parameter: 'net.core.somaxconn' } "
              "setting: SETTING_RUNNING } to { number: 65535 } "
              "why: 'net.core.somaxconn is 128' } } }"),
       Without{"no-record-of-applies"}},
      NoHostFact("no-somaxconn",
                 "kernel { somaxconn { missing { reason: UNREADABLE } } }",
                 "listen-backlog", "backlog-uniform"),
      NoHostFact("no-syn-backlog",
                 "kernel { tcp_max_syn_backlog { missing { reason: "
                 "NOT_PERMITTED } } }",
                 "syn-backlog", "backlog-uniform"),
      NoHostFact("no-reserved-ports",
                 "kernel { reserved_ports { missing { reason: UNREADABLE } } }",
                 "ports-reserved", "ports-uniform"),
      NoHostFact("no-boot-values",
                 "kernel { somaxconn_at_boot { missing { reason: "
                 "NOT_PERMITTED } } }",
                 "sysctl-persistent"),
      NoHostFact("no-sockets", "sockets { missing { reason: UNREADABLE } }",
                 "ports-free", "rendezvous"),
      NoHostFact("no-packet-filter",
                 "drop_rules { missing { reason: NOT_PERMITTED } }",
                 "firewall"),
      NoHostFact("no-driver-version",
                 "versions { driver { missing { reason: UNREADABLE } } }",
                 "version-uniform", "driver-compat"),
      NoHostFact("no-device-ids",
                 "device_ids { missing { reason: NOT_PERMITTED } }",
                 "device-count"),
  };
}

bool TellsPlace(const RandomCluster& cluster, int, int) {
  return ProfileOf(cluster).in_super_pod && !Has(cluster, "npu-smi-absent");
}

// Another planned device of the host without faults, otherwise the same.
int TwinOf(const RandomCluster& cluster, int host, int device) {
  const HostFacts& facts = cluster.facts[host];
  for (int d = 0; d < facts.devices_size(); ++d) {
    if (d != device && cluster.taken.count({host, d}) == 0 &&
        cluster.Planned(host, facts.devices(d).id()) != nullptr) {
      return d;
    }
  }
  return device;
}

void TakeSdidOfTwin(RandomCluster& cluster, int host, int device) {
  const int twin = TwinOf(cluster, host, device);
  DeviceOf(cluster, host, device)
      .mutable_super_pod()
      ->mutable_value()
      ->set_sdid(DeviceOf(cluster, host, twin).super_pod().value().sdid());
  cluster.taken.insert({host, twin});
}

// The chip reports other numbers than the rest of its host, which is in order.
FaultKind OtherPlace(const char* name, const char* simulated, State state,
                     const char* number) {
  const Make make = [number](RandomCluster& cluster, int host, int device) {
    Patch(absl::StrCat("super_pod { value { ", number, " } }"),
          &DeviceOf(cluster, host, device));
  };
  const Where applies = [](const RandomCluster& cluster, int host, int device) {
    return TellsPlace(cluster, host, device) &&
           cluster.spec.servers(host).devices_size() > 2;
  };
  return {name, simulated, kOfDevice | kAlone, "subnet-superpod", state, "",
          make, applies};
}

FaultKind NoPlace() {
  FaultKind kind = NoFact("no-place", "super_pod", "subnet-superpod", "");
  kind.applies = TellsPlace;
  return kind;
}

// npu-smi's answers about one device.
std::vector<FaultKind> ChipFaults() {
  return {
      {"health", "health=Alarm health=Critical", kOfDevice, "device-health",
       FAIL, "",
       [](RandomCluster& cluster, int host, int device) {
         Patch(cluster.OneIn(2) ? "health { value { health: ALARM } }"
                                : "health { value { health: CRITICAL } }",
               &DeviceOf(cluster, host, device));
       }},
      {"health-warning", "health=Warning", kOfDevice, "device-health", WARN, "",
       OnDevice("health { value { health: WARNING } }")},
      {"chip-not-started", "health=UNKNOWN", kOfDevice, "device-health", FAIL,
       "", OnDevice("health { value { health: NOT_STARTED } }")},
      // npu-smi may say OK beside a code.
      {"fault-code", "health=/CODE…", kOfDevice, "device-health", FAIL, "",
       OnDevice("health { value { health: OK error_codes: '80E18402' } }")},
      {"ecc", "ecc=N", kOfDevice, "device-health", WARN, "",
       OnDevice("memory_errors { value { double_bit: 2 isolated_pages: 1 } }")},
      {"compatibility", "compatibility=NOK", kOfDevice, "driver-compat", FAIL,
       "", OnDevice("compatibility { value: 'NOK' }")},
      // No visible process of the host uses it.
      {"memory-left", "hbm=MB", kOfDevice, "device-memory", WARN, "",
       OnDevice("memory { value { used_mb: 30710 total_mb: 65536 } }"),
       [](const RandomCluster& cluster, int host, int) {
         return !Has(cluster, "npu-smi-absent") &&
                cluster.facts[host].npu_processes().value().processes().empty();
       }},
      {"hccs", "hccs=NOK", kOfDevice, "hccs", FAIL, "",
       OnDevice("hccs { value { ok: false } }")},
      {"hccs-lanes", "hccs=/LANES", kOfDevice | kByVote, "hccs", WARN, "",
       [](RandomCluster& cluster, int host, int device) {
         DeviceOf(cluster, host, device)
             .mutable_hccs()
             ->mutable_value()
             ->set_lanes(2, 1);
       },
       [](const RandomCluster& cluster, int host, int device) {
         return HasLikes(cluster, host, device) &&
                !Has(cluster, "npu-smi-absent");
       }},
      NoFact("no-chip-health", "health", "device-health", ""),
      {"npu-smi-silent", "npu_smi=silent npu_smi=hangs",
       kOfHost | kHides | kAlone, "device-health", UNKNOWN,
       "driver-compat hccs subnet-superpod", SilenceNpuSmi},
      NoMemoryErrors(),
      NoFact("no-compatibility", "compatibility", "driver-compat", ""),
      NoFact("no-hccs-fact", "hccs", "hccs", ""),
      {"sdid-twice", "sdid=N", kOfDevice, "subnet-superpod", FAIL, "",
       TakeSdidOfTwin,
       [](const RandomCluster& cluster, int host, int device) {
         return TellsPlace(cluster, host, device) &&
                TwinOf(cluster, host, device) != device;
       }},
      OtherPlace("server-index", "server_index=N", FAIL, "server_index: 1000"),
      OtherPlace("super-pod-id", "", FAIL, "super_pod_id: 1000"),
      OtherPlace("super-pod-size", "", WARN, "size: 1"),
      NoPlace(),
  };
}

// Faults of every login and of running processes.
std::vector<FaultKind> LaunchFaults() {
  return {
      FailsWhere(
          [](const RandomCluster& cluster) { return cluster.job.has_value(); },
          {"device-in-use", "process=NAME", kOfDevice, "device-idle", WARN, "",
           HoldDevice("4711"), ShowsProcesses}),
      {"two-on-a-device", "", kOfDevice, "device-process-limit", WARN,
       "device-idle=FAIL",
       [](RandomCluster& cluster, int host, int device) {
         HoldDevice("4711")(cluster, host, device);
         HoldDevice("4712")(cluster, host, device);
       },
       [](const RandomCluster& cluster, int host, int device) {
         return ShowsProcesses(cluster, host, device) &&
                ProfileOf(cluster).process_limit != ProcessLimit::kNotPublished;
       }},
      {"address-elsewhere", "", kOfHost | kHides, "host-interface", FAIL,
       "firewall",
       [](RandomCluster& cluster, int host, int) {
         OwnInterface(cluster, host).set_addresses(0, "10.8.0.9");
       }},
      {"interface-down", "interface_down=NAME", kOfHost, "host-interface", FAIL,
       "",
       [](RandomCluster& cluster, int host, int) {
         OwnInterface(cluster, host).set_up(false);
       }},
      {"another-interface", "interface=NAME/IPV4", kOfHost, "host-interface",
       WARN, "",
       // Another one on each host, which no two may share.
       [](RandomCluster& cluster, int host, int) {
         Patch(absl::StrCat("interfaces { value { interfaces { name: 'bond0' "
                            "up: true addresses: '10.9.",
                            host / 200, ".", host % 200 + 9, "' } } }"),
               &cluster.facts[host]);
       },
       Without{"hccl-variables"}},
      {"variable-names-another", "", kOfHost, "host-interface", FAIL, "",
       OnHost("environment { value { variables { name: 'HCCL_SOCKET_IFNAME' "
              "value: '=bond7' file: '/etc/profile.d/hccl.sh' line: 2 } } }")},
      {"hccl-variable", "profile=LINE environment=LINE", kOfHost | kByVote,
       "hccl-environment", FAIL, "environment-uniform",
       OnHost("environment { value { variables { name: 'HCCL_CONNECT_TIMEOUT' "
              "value: '60' file: '/etc/profile.d/hccl.sh' line: 3 } } }")},
      FailsWhere(With{"job"}, {"role-variable", "", kOfHost | kByVote,
                               "environment-uniform", WARN, "", AskForRoce}),
      {"host-name", "hostname=NAME", kOfHost, "host-name", WARN, "",
       [](RandomCluster& cluster, int host, int) {
         auto* name = cluster.facts[host].mutable_own_name()->mutable_value();
         name->clear_addresses();
         if (cluster.OneIn(2)) name->add_addresses("127.0.1.1");
       }},
      {"clock", "", kOfHost | kByVote, "clock-skew", WARN, "",
       [](RandomCluster& cluster, int host, int) {
         Patch(cluster.OneIn(2) ? "clock { value { ahead_at_least_ms: 19000 "
                                  "ahead_at_most_ms: 21000 } }"
                                : "clock { value { ahead_at_least_ms: -21000 "
                                  "ahead_at_most_ms: -19000 } }",
               &cluster.facts[host]);
       },
       Without{"clocks-not-compared"}},
      {"conf-not-mounted", "hccn_conf=absent", kOfHost | kHides,
       "container-mounts", FAIL, "hccn-conf",
       OnHost("in_container { value: true } hccn_conf { missing { "
              "reason: ABSENT detail: 'no such file' } }"),
       Without{"roce-unused"}},
      {"backlog-of-another", "somaxconn=N", kOfHost | kByVote,
       "backlog-uniform", WARN, "listen-backlog",
       OnHost("kernel { somaxconn { value: 4095 } }"), With{"kernel-backlogs"}},
      {"ports-of-another", "reserved_ports=PORTS", kOfHost | kByVote,
       "ports-uniform", WARN, "ports-reserved=FAIL",
       OnHost("kernel { reserved_ports { value: '60000-60015' } }"),
       With{"ports-not-named"}},
      {"driver-of-other-firmware", "", kOfHost, "driver-compat", FAIL, "",
       OnHost("versions { firmware_of_driver { value: '[8.0.0,8.9.9]' } }")},
      FailsWhere(With{"switches-planned"},
                 {"cables-exchanged", "lldp=SWITCH", kOfHost | kByVote,
                  "lldp-rail", WARN, "",
                  [](RandomCluster& cluster, int host, int) {
                    DeviceOf(cluster, host, 0)
                        .mutable_lldp()
                        ->Swap(DeviceOf(cluster, host, 1).mutable_lldp());
                  },
                  [](const RandomCluster& cluster, int host, int) {
                    return Has(cluster, "switch-per-rail") &&
                           cluster.spec.servers(host).devices_size() > 2 &&
                           cluster.Planned(
                               host, cluster.facts[host].devices(0).id()) &&
                           cluster.Planned(host,
                                           cluster.facts[host].devices(1).id());
                  }}),
      NoHostFact("no-npu-processes",
                 "npu_processes { missing { reason: UNREADABLE } }",
                 "device-idle",
                 "device-process-limit ports-free device-namespace"),
      NoHostFact("no-interfaces",
                 "interfaces { missing { reason: UNREADABLE } }",
                 "host-interface", "firewall"),
      NoHostFact("no-environment",
                 "environment { missing { reason: NOT_PERMITTED } }",
                 "hccl-environment",
                 "host-interface ports-reserved environment-uniform"),
      {"few-neighbours", "", kOfHost, "neighbour-table", WARN, "",
       OnHost("kernel { neighbours_most { value: 1 } "
              "neighbours_kept { value: 1 } }"),
       [](const RandomCluster& cluster, int host, int) {
         return cluster.facts[host].kernel().neighbours_most().has_value();
       }},
      {"out-of-memory", "", kOfHost, "host-memory", WARN, "",
       OnHost("memory { value { kills { pid: 4711 command: 'python3' "
              "seconds_ago: 60 } } }")},
      FailsWhere(
          [](const RandomCluster& c) {
            const bool runs = c.job.has_value() &&
                              c.job->ssh().container_port() != 0 &&
                              !c.job->ssh().before();
            // Such a job may run on the host itself.
            const bool of_slurm =
                c.job.has_value() && absl::StartsWith(c.job->id(), "slurm:");
            return c.job.has_value() && !runs &&
                   (!of_slurm || c.job->ssh().container_port() != 0);
          },
          {"owned-by-container", "uda=CONTAINER", kOfDevice, "device-namespace",
           WARN, "",
           [](RandomCluster& cluster, int host, int device) {
             Patch(absl::StrCat("device_owners { value { owners { pid: 4711 "
                                "identity: '5b0c7e21d9f4' command: 'bash' "
                                "devices: ",
                                DeviceOf(cluster, host, device).id(), " } } }"),
                   &cluster.facts[host]);
           },
           [](const RandomCluster& cluster, int host, int device) {
             const HostFacts& facts = cluster.facts[host];
             return facts.device_owners().has_value() &&
                    cluster.Planned(host, facts.devices(device).id()) !=
                        nullptr;
           }}),
      {"too-few-open-files", "", kOfHost, "open-files", WARN, "",
       [](RandomCluster& cluster, int host, int) {
         OpenFilesLimit* limit = cluster.facts[host]
                                     .mutable_open_files()
                                     ->mutable_value()
                                     ->mutable_limits(0);
         limit->set_soft(4);
         limit->set_hard(4);
       }},
      NoHostFact("no-roots", "roots { missing { reason: UNREADABLE } }",
                 "roots-uniform"),
      NoHostFact("no-open-files",
                 "open_files { missing { reason: UNREADABLE } }", "open-files"),
      NoHostFact("no-own-name", "own_name { missing { reason: TIMED_OUT } }",
                 "host-name"),
      NoHostFact("no-container-fact",
                 "in_container { missing { reason: UNREADABLE } }",
                 "container-mounts"),
      NoHostFact("no-firmware-version",
                 "versions { firmware { missing { reason: UNREADABLE } } }",
                 "version-uniform", "driver-compat"),
  };
}

}  // namespace clusterd
