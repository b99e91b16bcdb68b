// Clusters that are in order although nobody set them up as we would.
#include <algorithm>
#include <numeric>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "config/spec/product_profile.h"
#include "tests/sim/random/random_cluster.h"

namespace clusterd {
namespace {

const ProductProfile& ProfileOf(const RandomCluster& cluster) {
  return **FindProductProfile(cluster.spec.product(), cluster.spec.mode());
}

bool Always(const RandomCluster&) { return true; }

bool IsClassic(const RandomCluster& cluster) {
  return ProfileOf(cluster).generation == NpuToolFacts::CLASSIC;
}

// Ranks and agents of all servers dial the root.
size_t Dialling(const RandomCluster& cluster) {
  size_t dialling = 0;
  for (const ServerSpec& server : cluster.spec.servers()) {
    dialling += server.devices_size() + 1;
  }
  return dialling;
}

void PatchHosts(absl::string_view text, RandomCluster& cluster) {
  for (HostFacts& host : cluster.facts) Patch(text, &host);
}

void PatchDevices(absl::string_view text, RandomCluster& cluster) {
  for (HostFacts& host : cluster.facts) {
    for (DeviceFacts& device : *host.mutable_devices()) Patch(text, &device);
  }
}

void RemoveFromAllConfs(absl::string_view key, RandomCluster& cluster) {
  for (HostFacts& host : cluster.facts) {
    for (const DeviceFacts& device : host.devices()) {
      RemoveFromConf(host, key, device.id());
    }
  }
}

void WriteToAllConfs(absl::string_view key, const std::string& value,
                     RandomCluster& cluster) {
  for (HostFacts& host : cluster.facts) {
    for (const DeviceFacts& device : host.devices()) {
      WriteToConf(host, key, device.id(), value);
    }
  }
}

// A device that nobody set up: no address, no cable.
void Unplug(HostFacts& host, DeviceFacts* device) {
  for (const char* key : {"address", "netmask", "gateway", "netdetect"}) {
    RemoveFromConf(host, key, device->id());
  }
  device->mutable_address()->mutable_value()->clear_settings();
  device->mutable_lldp()->clear_value();
  Patch(R"(gateway { value: "" } detect_address { value: "0.0.0.0" }
           net_health { value: NET_HEALTH_INIT } link { value: DOWN }
           lldp { value {} } mtu { value: 1500 })",
        device);
}

// As many devices of each server, on A1 of one group of four; which ones
// differs by host elsewhere. The others of the server are not set up.
void PlanSubset(RandomCluster& cluster) {
  const bool rails = ProfileOf(cluster).subnet_plan == SubnetPlan::kPairs;
  const int all = cluster.spec.servers(0).devices_size();
  const int used = rails || cluster.OneIn(2) ? all / 2 : all / 4;
  for (int s = 0; s < cluster.spec.servers_size(); ++s) {
    std::vector<int> order(all);
    std::iota(order.begin(), order.end(), 0);
    if (!rails) std::shuffle(order.begin(), order.end(), cluster.random);
    std::sort(order.begin(), order.begin() + used);
    ServerSpec* server = cluster.spec.mutable_servers(s);
    ServerSpec left = *server;
    left.clear_devices();
    for (int i = 0; i < used; ++i) {
      *left.add_devices() = server->devices(order[i]);
    }
    *server = left;
    HostFacts& host = cluster.facts[s];
    for (DeviceFacts& device : *host.mutable_devices()) {
      if (cluster.Planned(s, device.id()) == nullptr) Unplug(host, &device);
    }
  }
}

// On every second server: its devices are in use, and HCCL's ports are held by
// the ranks.
void RunJob(RandomCluster& cluster) {
  for (int s = 0; s < cluster.spec.servers_size(); s += 2) {
    HostFacts& host = cluster.facts[s];
    int rank = 0;
    for (const DeviceSpec& device : cluster.spec.servers(s).devices()) {
      Patch(absl::StrCat("sockets { value { sockets { port: ", 60000 + rank,
                         " protocol: 'tcp' address: '0.0.0.0' state: 'LISTEN'"
                         " pid: ",
                         4000 + rank, " command: 'python3' } } }",
                         "npu_processes { value { processes { pid: ",
                         4000 + rank, " parent: 3999 command: 'python3'",
                         " devices: ", device.id(), " } } }"),
            &host);
      ++rank;
    }
  }
}

// Docker keeps chains and an interface in a zone of its own, the kubelet has
// reserved its node ports.
void RunDocker(RandomCluster& cluster) {
  PatchHosts(R"(docker_running { value: true }
      drop_rules { value { rules { text: "tcp dport 2375 drop" ports: "2375" } } }
      interfaces { value { interfaces { name: "docker0" up: true
                                        addresses: "172.17.0.1" } } })",
             cluster);
  for (HostFacts& host : cluster.facts) {
    KernelFacts* kernel = host.mutable_kernel();
    const std::string ports =
        absl::StrCat("30000-32767,", kernel->reserved_ports().value());
    kernel->mutable_reserved_ports()->set_value(ports);
    kernel->mutable_reserved_ports_at_boot()
        ->mutable_value()
        ->mutable_assignments(0)
        ->set_value(ports);
  }
}

// A DHCP server gives the addresses, whether cluster.yaml names them or not.
void UseDhcp(RandomCluster& cluster) {
  for (const char* key : {"address", "netmask", "gateway"}) {
    RemoveFromAllConfs(key, cluster);
  }
  WriteToAllConfs("udhcpc_enable", "1", cluster);
  if (cluster.OneIn(2)) return;
  for (ServerSpec& server : *cluster.spec.mutable_servers()) {
    for (DeviceSpec& device : *server.mutable_devices()) {
      device.clear_address();
      device.clear_netmask();
      device.clear_gateway();
      device.clear_detect_address();
    }
  }
}

void LeaveTlsOut(RandomCluster& cluster) {
  RemoveFromAllConfs("tls_enable", cluster);
  PatchDevices(R"(tls { value { source: "hccn_tool -tls -g" in_file: "" } })",
               cluster);
}

void TurnTlsOn(RandomCluster& cluster) {
  if (cluster.OneIn(2)) cluster.spec.set_tls(true);
  WriteToAllConfs("tls_enable", "1", cluster);
  PatchDevices(R"(tls { value { enabled: true } })", cluster);
}

void SetNoDetectAddress(RandomCluster& cluster) {
  RemoveFromAllConfs("netdetect", cluster);
  PatchDevices(R"(detect_address { value: "0.0.0.0" }
                  net_health { value: NET_HEALTH_INIT })",
               cluster);
  for (ServerSpec& server : *cluster.spec.mutable_servers()) {
    for (DeviceSpec& device : *server.mutable_devices()) {
      device.clear_detect_address();
    }
  }
}

// Ports let in from the cluster's addresses in two ranges and two blocks, by
// ufw on some hosts and by firewalld on the others, where docker0 and the
// management interface have zones of their own.
void OpenPorts(RandomCluster& cluster) {
  cluster.spec.set_firewall(FIREWALL_OPEN_PORTS);
  constexpr char kPorts[] = R"(
      ports { first_port: 60000 last_port: 60015 protocol: "tcp"
              source: "172.16.0.0/16" }
      ports { first_port: 60016 last_port: 65535 source: "172.16.0.0/12" }
      ports { first_port: 22 last_port: 22 protocol: "tcp" })";
  const std::string active = absl::StrCat(
      "active { value: true } enabled_at_boot { value: true } "
      "allowed { value {",
      kPorts, "} }");
  for (HostFacts& host : cluster.facts) {
    if (cluster.OneIn(2)) {
      Patch(active, host.mutable_ufw());
    } else {
      Patch(absl::StrCat(active, "allowed_permanently { value {", kPorts, "} }",
                         "other_zones { value { zones { name: 'docker' "
                         "interfaces: 'docker0' allowed { value {} } } } }"),
            host.mutable_firewalld());
    }
  }
}

void HaveNoFirewall(RandomCluster& cluster) {
  for (HostFacts& host : cluster.facts) {
    for (FirewallFacts* facts :
         {host.mutable_ufw(), host.mutable_firewalld()}) {
      facts->Clear();
      facts->mutable_installed()->set_value(false);
    }
  }
}

// The kernel's own 4096, which no file sets, where that is more than enough.
void KeepKernelBacklogs(RandomCluster& cluster) {
  Patch("kernel { somaxconn_auto: true tcp_max_syn_backlog_auto: true }",
        &cluster.spec);
  cluster.spec.mutable_kernel()->set_persistent(false);
  for (HostFacts& host : cluster.facts) {
    KernelFacts* kernel = host.mutable_kernel();
    kernel->mutable_somaxconn()->set_value(4096);
    kernel->mutable_tcp_max_syn_backlog()->set_value(4096);
    kernel->mutable_somaxconn_at_boot()->mutable_value()->clear_assignments();
    kernel->mutable_tcp_max_syn_backlog_at_boot()
        ->mutable_value()
        ->clear_assignments();
  }
}

// The 16 ports of the documents, where nobody says which CANN runs.
void ReserveSixteenPorts(RandomCluster& cluster) {
  Patch("hccl { port_count_auto: true cann: '' }", &cluster.spec);
  PatchHosts("versions { cann { missing { reason: ABSENT } } }", cluster);
  for (HostFacts& host : cluster.facts) {
    KernelFacts* kernel = host.mutable_kernel();
    kernel->mutable_reserved_ports()->set_value("60000-60015");
    kernel->mutable_reserved_ports_at_boot()
        ->mutable_value()
        ->mutable_assignments(0)
        ->set_value("60000-60015");
  }
}

void SetOnlyRunningValues(RandomCluster& cluster) {
  cluster.spec.mutable_kernel()->set_persistent(false);
  for (HostFacts& host : cluster.facts) {
    KernelFacts* kernel = host.mutable_kernel();
    for (PersistentValueFact* fact :
         {kernel->mutable_reserved_ports_at_boot(),
          kernel->mutable_somaxconn_at_boot(),
          kernel->mutable_tcp_max_syn_backlog_at_boot()}) {
      fact->mutable_value()->clear_assignments();
    }
  }
}

void KeepNoRecordOfApplies(RandomCluster& cluster) {
  for (HostFacts& host : cluster.facts) host.clear_drift();
}

void KeepCannInContainers(RandomCluster& cluster) {
  PatchHosts(cluster.OneIn(2)
                 ? "versions { cann { missing { reason: ABSENT } } }"
                 : "versions { cann { missing { reason: NOT_QUERIED "
                   "detail: 'clusterd does not look into containers' } } }",
             cluster);
}

void ListenForSsh(RandomCluster& cluster) {
  cluster.spec.set_ssh_port(22);
  PatchHosts(R"(sockets { value { sockets { port: 22 protocol: "tcp"
      address: "0.0.0.0" state: "LISTEN" pid: 812 command: "sshd" } } })",
             cluster);
}

// None of these keeps HCCL from listening on the host's address.
void HoldHarmlessSockets(RandomCluster& cluster) {
  PatchHosts(R"(sockets { value {
      sockets { port: 60003 protocol: "udp" address: "0.0.0.0" pid: 900
                command: "chronyd" }
      sockets { port: 60004 protocol: "tcp" address: "127.0.0.1"
                state: "LISTEN" pid: 901 command: "node_exporter" } } })",
             cluster);
}

void UseJumboFrames(RandomCluster& cluster) {
  if (cluster.OneIn(2)) cluster.spec.set_mtu(9000);
  WriteToAllConfs("mtu", "9000", cluster);
  for (int s = 0; s < cluster.spec.servers_size(); ++s) {
    for (DeviceFacts& device : *cluster.facts[s].mutable_devices()) {
      if (cluster.Planned(s, device.id()) == nullptr) continue;
      device.mutable_mtu()->set_value(9000);
    }
  }
}

void HaveOldTool(RandomCluster& cluster) {
  PatchDevices(R"(recovery { missing { reason: NOT_SUPPORTED
      detail: "`hccn_tool -i N -cfg status`: not supported" } })",
               cluster);
}

void NeverRecover(RandomCluster& cluster) {
  PatchDevices("recovery { value: NONE }", cluster);
}

void RunInContainer(RandomCluster& cluster) {
  PatchHosts(R"(kernel { network_namespace { value: 4026532000 }
                         proc_sys_writable { value: false } }
                in_container { value: true })",
             cluster);
}

// One device of four keeps the gateway for all of them, so what happens to it
// is told of the others, too.
void ShareGateways(RandomCluster& cluster) {
  for (int s = 0; s < cluster.spec.servers_size(); ++s) {
    HostFacts& host = cluster.facts[s];
    for (int d = 0; d < host.devices_size(); ++d) {
      DeviceFacts* device = host.mutable_devices(d);
      if (device->id() % 4 == 0) {
        cluster.taken.insert({s, d});
        continue;
      }
      device->mutable_gateway()->set_value("");
      RemoveFromConf(host, "gateway", device->id());
    }
  }
}

void PlanNoGateways(RandomCluster& cluster) {
  for (ServerSpec& server : *cluster.spec.mutable_servers()) {
    for (DeviceSpec& device : *server.mutable_devices()) device.clear_gateway();
  }
}

// What the vendor's deployment tool and people write there, too.
void WriteMoreKeys(RandomCluster& cluster) {
  WriteToAllConfs("send_arp_status", "1", cluster);
  WriteToAllConfs("arp", "-i eth0 -s 10.0.0.9 00:11:22:33:44:55", cluster);
}

}  // namespace

const std::vector<Variation>& Variations() {
  static const auto* const variations = new std::vector<Variation>{
      {"subset-of-devices", 5,
       [](const RandomCluster& c) {
         return c.spec.servers(0).devices_size() >= 8;
       },
       PlanSubset},
      {"job-running", 8, Always, RunJob, "device-idle ports-free"},
      {"docker", 6, Always, RunDocker},
      {"dhcp", 8, IsClassic, UseDhcp},
      {"tls-absent", 4, Always, LeaveTlsOut},
      {"tls-on", 8,
       [](const RandomCluster& c) {
         return !absl::c_linear_search(c.variations, "tls-absent");
       },
       TurnTlsOn},
      {"no-detect-address", 8, Always, SetNoDetectAddress,
       "detect-address net-health"},
      {"open-ports", 5, Always, OpenPorts},
      {"no-firewall-installed", 8,
       [](const RandomCluster& c) {
         return c.spec.firewall() == FIREWALL_DISABLED;
       },
       HaveNoFirewall},
      {"kernel-backlogs", 4,
       [](const RandomCluster& c) { return Dialling(c) <= 2048; },
       KeepKernelBacklogs, "sysctl-persistent"},
      {"sixteen-ports", 8,
       [](const RandomCluster& c) {
         return !absl::c_linear_search(c.variations, "docker");
       },
       ReserveSixteenPorts, "ports-reserved sysctl-persistent"},
      {"running-values-only", 8, Always, SetOnlyRunningValues,
       "sysctl-persistent"},
      {"no-record-of-applies", 8, Always, KeepNoRecordOfApplies},
      {"cann-in-containers", 8, Always, KeepCannInContainers},
      {"sshd", 6, Always, ListenForSsh},
      {"harmless-sockets", 8, Always, HoldHarmlessSockets},
      {"jumbo-frames", 6, Always, UseJumboFrames},
      {"old-tool", 10, IsClassic, HaveOldTool},
      {"no-recovery-yet", 10, IsClassic, NeverRecover},
      {"clusterd-in-container", 10, Always, RunInContainer, "netns"},
      {"shared-gateways", 2,
       [](const RandomCluster& c) {
         return ProfileOf(c).one_gateway_per_four &&
                !c.spec.servers(0).devices(0).gateway().empty() &&
                c.spec.servers(0).devices_size() == 8 &&
                !absl::c_linear_search(c.variations, "dhcp");
       },
       ShareGateways},
      {"gateways-not-planned", 8,
       [](const RandomCluster& c) {
         return !absl::c_linear_search(c.variations, "shared-gateways");
       },
       PlanNoGateways},
      {"more-keys-in-hccn-conf", 6, Always, WriteMoreKeys},
  };
  return *variations;
}

}  // namespace clusterd
