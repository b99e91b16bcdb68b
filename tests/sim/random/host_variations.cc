// Clusters that are in order although their hosts were set up differently.
#include "absl/strings/str_cat.h"
#include "tests/sim/random/rows.h"

namespace clusterd {
namespace {

// Ranks and agents of all servers connect to the root.
size_t Dialling(const RandomCluster& cluster) {
  size_t dialling = 0;
  for (const ServerSpec& server : cluster.spec.servers()) {
    dialling += server.devices_size() + 1;
  }
  return dialling;
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

// Ports opened to the cluster's addresses in two ranges and two blocks, by ufw
// on some hosts and by firewalld on the others. There docker0 and the
// management interface have zones of their own.
void OpenPorts(RandomCluster& cluster) {
  cluster.spec.set_firewall(FIREWALL_OPEN_PORTS);
  constexpr char kPorts[] = R"(
      ports { first_port: 60000 last_port: 60015 protocol: "tcp"
              source: "172.16.0.0/16" }
      ports { first_port: 60016 last_port: 65535 source: "172.16.0.0/12" }
      ports { first_port: 22 last_port: 22 protocol: "tcp" }
      ports { first_port: 29500 last_port: 29500 source: "172.16.0.0/16" })";
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

// The 16 ports of the documents, for an unknown version of CANN.
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

// These sockets do not keep HCCL from listening on the host's address.
void HoldHarmlessSockets(RandomCluster& cluster) {
  PatchHosts(R"(sockets { value {
      sockets { port: 60003 protocol: "udp" address: "0.0.0.0" pid: 900
                command: "chronyd" }
      sockets { port: 60004 protocol: "tcp" address: "127.0.0.1"
                state: "LISTEN" pid: 901 command: "node_exporter" } } })",
             cluster);
}

// Within the bound, and with the uncertainty of slow answers.
void LetClocksDiffer(RandomCluster& cluster) {
  for (HostFacts& host : cluster.facts) {
    const int ahead = static_cast<int>(cluster.Pick(4000)) - 2000;
    Patch(absl::StrCat("clock { value { ahead_at_least_ms: ", ahead - 3000,
                       " ahead_at_most_ms: ", ahead + 10, " } }"),
          &host);
  }
}

void CompareNoClocks(RandomCluster& cluster) {
  for (HostFacts& host : cluster.facts) host.clear_clock();
}

// Like a container with a process namespace of its own.
void HideProcesses(RandomCluster& cluster) {
  PatchHosts(R"(npu_processes { missing { reason: NOT_SUPPORTED
                                          detail: "its own container" } })",
             cluster);
}

// HCCL takes its default range, and cluster.yaml does not name one.
void NamePortsNowhere(RandomCluster& cluster) {
  Patch("hccl { base_port_auto: true port_count_auto: true }", &cluster.spec);
}

// Variables of every login that choose the host's own interface.
void SetVariables(RandomCluster& cluster) {
  PatchHosts(R"(environment { value {
      variables { name: "HCCL_SOCKET_IFNAME" value: "eth"
                  file: "/etc/profile.d/hccl.sh" line: 1 }
      variables { name: "HCCL_CONNECT_TIMEOUT" value: "1200"
                  file: "/etc/profile.d/hccl.sh" line: 2 } } })",
             cluster);
}

void RunInContainer(RandomCluster& cluster) {
  PatchHosts(R"(kernel { network_namespace { value: 4026532000 }
                         proc_sys_writable { value: false } }
                in_container { value: true })",
             cluster);
}

// Before any time at which a cluster is judged.
void LetAWaiverEnd(RandomCluster& cluster) {
  Patch(R"(waivers { rule: "link" reason: "optics are on order" owner: "ops"
                     until_ms: 1000 })",
        &cluster.spec);
}

}  // namespace

std::vector<Variation> HostVariations() {
  return {
      {"job-running", 8,
       [](const RandomCluster& c) { return !c.job.has_value(); }, RunJob,
       "device-idle ports-free", [](int host) { return host % 2 == 0; }},
      {"docker", 6, Always, RunDocker},
      {"open-ports", 5, Always, OpenPorts},
      {"no-firewall-installed", 8,
       [](const RandomCluster& c) {
         return c.spec.firewall() == FIREWALL_DISABLED;
       },
       HaveNoFirewall},
      {"kernel-backlogs", 4,
       [](const RandomCluster& c) { return Dialling(c) <= 2048; },
       KeepKernelBacklogs, "sysctl-persistent"},
      {"sixteen-ports", 8, Without{"docker"}, ReserveSixteenPorts,
       "ports-reserved sysctl-persistent"},
      {"running-values-only", 8, Always, SetOnlyRunningValues,
       "sysctl-persistent"},
      {"no-record-of-applies", 8, Always, KeepNoRecordOfApplies},
      {"cann-in-containers", 8, Always, KeepCannInContainers},
      {"sshd", 6, Always, ListenForSsh},
      {"harmless-sockets", 8, Always, HoldHarmlessSockets},
      {"clocks-differ", 4, Always, LetClocksDiffer},
      {"clocks-not-compared", 10, Always, CompareNoClocks},
      {"processes-not-visible", 10, Without{"job-running"}, HideProcesses},
      {"ports-not-named", 6, Without{"sixteen-ports"}, NamePortsNowhere},
      {"hccl-variables", 8, Always, SetVariables},
      {"one-job", 8,
       [](const RandomCluster& c) {
         const int servers = c.spec.servers_size();
         return servers <= 512 && (servers & (servers - 1)) == 0;
       },
       [](RandomCluster& c) { c.spec.set_one_job(true); }},
      {"launched-by-ssh", 2,
       [](const RandomCluster& c) { return c.job.has_value(); }, LaunchBySsh},
      {"clusterd-in-container", 10, Always, RunInContainer, "netns"},
      {"waiver-ended", 10, Always, LetAWaiverEnd, "maintenance"},
  };
}

}  // namespace clusterd
