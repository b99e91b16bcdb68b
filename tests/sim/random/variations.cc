// Clusters that are in order although their devices were set up differently.
#include <algorithm>
#include <numeric>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "tests/sim/random/rows.h"

namespace clusterd {

bool Always(const RandomCluster&) { return true; }

void PatchHosts(absl::string_view text, RandomCluster& cluster) {
  for (HostFacts& host : cluster.facts) Patch(text, &host);
}

void PatchDevices(absl::string_view text, RandomCluster& cluster) {
  for (HostFacts& host : cluster.facts) {
    for (DeviceFacts& device : *host.mutable_devices()) Patch(text, &device);
  }
}

namespace {

bool HasClassicTool(const RandomCluster& cluster) {
  return ProfileOf(cluster).generation == NpuToolFacts::CLASSIC;
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

// A device that was not set up: no address, no cable.
void Unplug(HostFacts& host, DeviceFacts* device) {
  for (const char* key :
       {"address", "netmask", "gateway", "netdetect", "mtu"}) {
    RemoveFromConf(host, key, device->id());
  }
  device->mutable_address()->mutable_value()->clear_settings();
  device->mutable_lldp()->clear_value();
  Patch(R"(gateway { value: "" } detect_address { value: "0.0.0.0" }
           net_health { value: NET_HEALTH_INIT } link { value: DOWN }
           lldp { value {} } mtu { value: 1500 })",
        device);
}

// The same number of devices of each server, on A1 of one group of four;
// elsewhere which ones differs by host. The server's others are not set up.
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

// A DHCP server gives the addresses that cluster.yaml names.
void UseDhcp(RandomCluster& cluster) {
  for (const char* key : {"address", "netmask", "gateway"}) {
    RemoveFromAllConfs(key, cluster);
  }
  WriteToAllConfs("udhcpc_enable", "1", cluster);
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

void UseJumboFrames(RandomCluster& cluster) {
  if (cluster.OneIn(2)) cluster.spec.set_mtu(9000);
  for (int s = 0; s < cluster.spec.servers_size(); ++s) {
    for (DeviceFacts& device : *cluster.facts[s].mutable_devices()) {
      if (cluster.Planned(s, device.id()) == nullptr) continue;
      device.mutable_mtu()->set_value(9000);
      WriteToConf(cluster.facts[s], "mtu", device.id(), "9000");
    }
  }
}

// It knows none of the queries that came later.
void HaveOldTool(RandomCluster& cluster) {
  for (const char* fact :
       {"recovery", "pfc", "dscp_to_tc", "priority_to_tc", "roce_port",
        "optical", "link_history", "speed_mbps", "vnic"}) {
    PatchDevices(absl::StrCat(fact,
                              " { missing { reason: NOT_SUPPORTED detail: "
                              "'`hccn_tool -i N`: not supported' } }"),
                 cluster);
  }
}

void HaveNoNpuSmi(RandomCluster& cluster) {
  const char* const reason = cluster.OneIn(2) ? "ABSENT" : "NOT_SUPPORTED";
  for (const char* fact :
       {"health", "memory_errors", "compatibility", "hccs", "super_pod"}) {
    PatchDevices(absl::StrCat(fact, " { missing { reason: ", reason,
                              " detail: 'npu-smi' } }"),
                 cluster);
  }
}

// npu-smi has no value for it, or does not know.
void TellNoCompatibility(RandomCluster& cluster) {
  PatchDevices(cluster.OneIn(2) ? "compatibility { value: 'UNKNOWN' }"
                                : "compatibility { value: 'NOT SUPPORT' }",
               cluster);
}

// Switches whose announcements the tool truncates.
void CutNeighbours(RandomCluster& cluster) {
  for (HostFacts& host : cluster.facts) {
    for (DeviceFacts& device : *host.mutable_devices()) {
      if (!device.lldp().value().heard()) continue;
      device.mutable_lldp()->mutable_value()->set_truncated(true);
    }
  }
}

// Codes that the vendor's table has and that mean no fault.
void HaveHarmlessCodes(RandomCluster& cluster) {
  PatchDevices("health { value { error_codes: '80818200' } }", cluster);
}

// No module to ask: the ports work over copper.
void UseCopperCables(RandomCluster& cluster) {
  PatchDevices("optical { value { present: false } }", cluster);
}

// A port that comes up notes a DOWN in the second of its UP.
void BootToday(RandomCluster& cluster) {
  PatchDevices(R"(link_history { value { ups: 2 downs: 1
      changes { seconds_ago: 3600 up: true } changes { seconds_ago: 3600 } } })",
               cluster);
}

bool HasSwitches(const RandomCluster& cluster) {
  return !Has(cluster, "direct-cabling");
}

// Device i of every server at the switch of rail i.
void UseSwitchPerRail(RandomCluster& cluster) {
  for (HostFacts& host : cluster.facts) {
    for (DeviceFacts& device : *host.mutable_devices()) {
      LldpNeighbour* neighbour = device.mutable_lldp()->mutable_value();
      if (!neighbour->heard()) continue;
      neighbour->set_chassis_id(absl::StrCat("6c:b1:58:00:01:", device.id()));
      neighbour->set_system_name(absl::StrCat("rail-", device.id()));
    }
  }
}

void PlanSwitches(RandomCluster& cluster) {
  for (int s = 0; s < cluster.spec.servers_size(); ++s) {
    for (const DeviceFacts& device : cluster.facts[s].devices()) {
      for (DeviceSpec& planned :
           *cluster.spec.mutable_servers(s)->mutable_devices()) {
        if (planned.id() != device.id()) continue;
        planned.set_switch_name(device.lldp().value().system_name());
      }
    }
  }
}

// Priority 4 without loss, and the jobs' packets on it.
void PlanLossless(RandomCluster& cluster) {
  WriteToAllConfs("bitmap", "0,0,0,0,1,0,0,0", cluster);
  WriteToAllConfs("dscp_tc", "33:3,", cluster);
  WriteToAllConfs("roce_port", "4791", cluster);
  Patch(
      R"(lossless { pfc: "0,0,0,0,1,0,0,0" dscp_to_tc: "33:3" roce_port: 4791 }
           hccl { rdma_tc: 132 rdma_sl: 4 })",
      &cluster.spec);
  PatchDevices(R"(pfc { value: "0,0,0,0,1,0,0,0" } dscp_to_tc { value: "33:3" }
      priority_to_tc { value: "0,0,1,1,3,2,2,2" } roce_port { value: "4791" })",
               cluster);
}

bool IsOneSuperPod(const RandomCluster& c) {
  const auto pod = [](const HostFacts& host) {
    return host.devices_size() == 0
               ? 0
               : host.devices(0).super_pod().value().super_pod_id();
  };
  return ProfileOf(c).in_super_pod &&
         absl::c_all_of(c.facts, [&](const HostFacts& host) {
           return pod(host) == pod(c.facts[0]);
         });
}

// A super pod that uses only HCCS.
void LeaveRoceUnused(RandomCluster& cluster) {
  cluster.spec.set_roce_unused(true);
  for (int s = 0; s < cluster.spec.servers_size(); ++s) {
    for (DeviceSpec& device :
         *cluster.spec.mutable_servers(s)->mutable_devices()) {
      const uint32_t id = device.id();
      device.Clear();
      device.set_id(id);
    }
    HostFacts& host = cluster.facts[s];
    for (DeviceFacts& device : *host.mutable_devices()) Unplug(host, &device);
  }
}

void NeverRecover(RandomCluster& cluster) {
  PatchDevices("recovery { value: NONE }", cluster);
}

// One device of four keeps the gateway for all of them, so a change of it is
// reported for the others, too.
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

// Keys that the vendor's deployment tool and administrators write there, too.
void WriteMoreKeys(RandomCluster& cluster) {
  WriteToAllConfs("send_arp_status", "1", cluster);
  WriteToAllConfs("arp", "-i eth0 -s 10.0.0.9 00:11:22:33:44:55", cluster);
}

}  // namespace

std::vector<Variation> DeviceVariations() {
  return {
      {"subset-of-devices", 5,
       [](const RandomCluster& c) {
         // With pairs, the plan of 127 servers or more repeats last numbers, as
         // half of their devices would not have to.
         return !c.job.has_value() && c.spec.servers(0).devices_size() >= 8 &&
                (ProfileOf(c).subnet_plan != SubnetPlan::kPairs ||
                 c.spec.servers_size() <= 126);
       },
       PlanSubset},
      {"dhcp", 8, HasClassicTool, UseDhcp, "device-ip-persistent"},
      {"tls-absent", 4, Always, LeaveTlsOut},
      {"tls-on", 8, Without{"tls-absent"}, TurnTlsOn},
      {"no-detect-address", 8, Always, SetNoDetectAddress,
       "detect-address net-health"},
      {"jumbo-frames", 6, Always, UseJumboFrames},
      {"lossless-planned", 8, HasClassicTool, PlanLossless},
      // The spec's demand is unknown then.
      {"old-tool", 10,
       [](const RandomCluster& c) {
         return HasClassicTool(c) && !Has(c, "lossless-planned");
       },
       HaveOldTool},
      {"npu-smi-absent", 6, Always, HaveNoNpuSmi},
      {"harmless-codes", 10, Without{"npu-smi-absent"}, HaveHarmlessCodes},
      {"compatibility-unknown", 10, Without{"npu-smi-absent"},
       TellNoCompatibility},
      {"neighbours-cut", 10, HasSwitches, CutNeighbours},
      {"copper-cables", 10, Without{"old-tool"}, UseCopperCables},
      {"booted-today", 10, Without{"old-tool"}, BootToday},
      {"switch-per-rail", 3, HasSwitches, UseSwitchPerRail},
      {"switches-planned", 6, HasSwitches, PlanSwitches},
      {"roce-unused", 3, IsOneSuperPod, LeaveRoceUnused},
      {"no-recovery-yet", 10, HasClassicTool, NeverRecover},
      {"shared-gateways", 2,
       [](const RandomCluster& c) {
         return ProfileOf(c).one_gateway_per_four &&
                !c.spec.servers(0).devices(0).gateway().empty() &&
                c.spec.servers(0).devices_size() == 8 && !Has(c, "dhcp");
       },
       ShareGateways},
      {"gateways-not-planned", 8, Without{"shared-gateways"}, PlanNoGateways},
      {"more-keys-in-hccn-conf", 6, Always, WriteMoreKeys},
  };
}

const std::vector<Variation>& Variations() {
  static const auto* const variations = [] {
    auto* all = new std::vector<Variation>(DeviceVariations());
    const std::vector<Variation> hosts = HostVariations();
    all->insert(all->end(), hosts.begin(), hosts.end());
    return all;
  }();
  return *variations;
}

}  // namespace clusterd
