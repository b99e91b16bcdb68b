// Faults of addresses: on the device, in hccn.conf, and in the plan itself.
#include <algorithm>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "config/values/ipv4.h"
#include "tests/sim/random/rows.h"

namespace clusterd {
namespace {

// The live address and netmask, and with `stored` those of hccn.conf.
void SetAddress(RandomCluster& cluster, int host, int device,
                const std::string& address, const std::string& netmask,
                bool stored) {
  DeviceFacts& facts = DeviceOf(cluster, host, device);
  auto* value = facts.mutable_address()->mutable_value();
  value->clear_settings();
  if (!address.empty()) {
    Ipv4Setting* setting = value->add_settings();
    setting->set_address(address);
    setting->set_netmask(netmask);
  }
  if (!stored || Has(cluster, "dhcp")) return;
  HostFacts& facts_of = cluster.facts[host];
  WriteToConf(facts_of, "address", facts.id(), address);
  WriteToConf(facts_of, "netmask", facts.id(), netmask);
}

const Ipv4Setting& Live(const RandomCluster& cluster, int host, int device) {
  return cluster.facts[host].devices(device).address().value().settings(0);
}

bool HasPlan(const RandomCluster& cluster, int host, int device) {
  const HostFacts& facts = cluster.facts[host];
  return !cluster.Planned(host, facts.devices(device).id())->address().empty();
}

const DeviceSpec& PlannedOf(const RandomCluster& cluster, int host,
                            int device) {
  return *cluster.Planned(host, cluster.facts[host].devices(device).id());
}

bool PlansDetection(const RandomCluster& cluster, int host, int device) {
  return !PlannedOf(cluster, host, device).detect_address().empty();
}

DeviceSpec* MutablePlanned(RandomCluster& cluster, int host, int device) {
  return const_cast<DeviceSpec*>(&PlannedOf(cluster, host, device));
}

// True if a change also goes into hccn.conf. It always does if it is unknown
// what the next boot makes of the file.
bool WritesConf(RandomCluster& cluster, int host, int device) {
  return !IsClassic(cluster, host, device) || cluster.OneIn(2);
}

// The live gateway or detect address, and with `stored` that of hccn.conf.
void SetOther(absl::string_view key, const std::string& value, bool stored,
              RandomCluster& cluster, int host, int device) {
  DeviceFacts& facts = DeviceOf(cluster, host, device);
  const bool is_gateway = key == "gateway";
  (is_gateway ? facts.mutable_gateway() : facts.mutable_detect_address())
      ->set_value(value);
  if (!stored || (is_gateway && Has(cluster, "dhcp"))) return;
  if (value.empty()) {
    RemoveFromConf(cluster.facts[host], key, facts.id());
  } else {
    WriteToConf(cluster.facts[host], key, facts.id(), value);
  }
}

bool IsStored(const RandomCluster& cluster, int, int) {
  return !Has(cluster, "dhcp");
}

bool HasGateway(const RandomCluster& cluster, int host, int device) {
  return !cluster.facts[host].devices(device).gateway().value().empty();
}

// The address of the other device, which then has to keep it.
void TakeAddressOfAnother(RandomCluster& cluster, int host, int device) {
  const int other = (host + 1) % static_cast<int>(cluster.facts.size());
  const Ipv4Setting setting = Live(cluster, other, device);
  SetAddress(cluster, host, device, setting.address(), setting.netmask(), true);
  cluster.taken.insert({other, device});
}

bool AnotherIsFree(const RandomCluster& cluster, int host, int device) {
  const int other = (host + 1) % static_cast<int>(cluster.facts.size());
  return HasPlan(cluster, host, device) &&
         cluster.taken.count({other, -1}) == 0 &&
         cluster.taken.count({other, device}) == 0 &&
         device < cluster.facts[other].devices_size() &&
         cluster.facts[other]
                 .devices(device)
                 .address()
                 .value()
                 .settings_size() > 0;
}

// Faults of the plan itself; the device and hccn.conf agree with it.

// The address, and of its subnet the router as gateway, if it has one and is to
// keep one, and as detect address.
void Replan(const Ipv4Interface& to, bool keeps_gateway, RandomCluster& cluster,
            int host, int device) {
  const std::string address = to.address().ToString();
  const std::string netmask = to.subnet().netmask().ToString();
  const std::string router =
      Ipv4Address(to.subnet().broadcast().bits() - 1).ToString();
  SetAddress(cluster, host, device, address, netmask, true);
  DeviceSpec* planned = MutablePlanned(cluster, host, device);
  planned->set_address(address);
  planned->set_netmask(netmask);
  const std::string gateway = keeps_gateway ? router : "";
  if (HasGateway(cluster, host, device)) {
    SetOther("gateway", gateway, true, cluster, host, device);
  }
  if (!planned->gateway().empty()) planned->set_gateway(gateway);
  if (planned->detect_address().empty()) return;
  SetOther("netdetect", router, true, cluster, host, device);
  planned->set_detect_address(router);
}

Ipv4Interface OwnInterface(const RandomCluster& cluster, int host, int device) {
  const Ipv4Setting& live = Live(cluster, host, device);
  return *Ipv4Interface::Parse(live.address(), live.netmask());
}

// An address in another subnet of the same width, a new one for every fault: a
// file has one netmask for the devices of an id.
Ipv4Interface Elsewhere(const RandomCluster& cluster, int host, int device,
                        uint32_t last) {
  const int prefix = OwnInterface(cluster, host, device).prefix_length();
  const auto fault = static_cast<uint32_t>(cluster.faults.size());
  return Ipv4Interface(
      Ipv4Address(0x0b000000 + (fault << (32 - prefix)) + last), prefix);
}

bool HasPairs(const RandomCluster& cluster, int host, int device) {
  return cluster.spec.servers(host).devices_size() ==
             cluster.facts[host].devices_size() &&
         ProfileOf(cluster).subnet_plan == SubnetPlan::kPairs &&
         HasLikes(cluster, host, std::max(device, 0));
}

// The last address below the router of a subnet with room for it.
bool HasRoomBesideNeighbour(const RandomCluster& cluster, int host,
                            int device) {
  return HasPairs(cluster, host, device) && cluster.facts.size() < 120 &&
         cluster.taken.count({host, device ^ 1}) == 0;
}

void MoveToNeighbour(RandomCluster& cluster, int host, int device) {
  const Ipv4Subnet subnet = OwnInterface(cluster, host, device ^ 1).subnet();
  const auto fault = static_cast<uint32_t>(cluster.faults.size());
  Replan(Ipv4Interface(Ipv4Address(subnet.broadcast().bits() - 2 - fault),
                       subnet.prefix_length()),
         true, cluster, host, device);
  cluster.taken.insert({host, device ^ 1});
}

bool CanMovePair(const RandomCluster& cluster, int host, int) {
  return HasPairs(cluster, host, 0) && cluster.taken.count({host, 1}) == 0 &&
         cluster.taken.count({host, 5}) == 0;
}

void MovePair(RandomCluster& cluster, int host, int) {
  Replan(Elsewhere(cluster, host, 1, 9), true, cluster, host, 1);
  Replan(Elsewhere(cluster, host, 5, 10), true, cluster, host, 5);
}

// One bit less: the subnet of the others lies in its own.
void WidenNetmask(RandomCluster& cluster, int host, int device) {
  const Ipv4Interface own = OwnInterface(cluster, host, device);
  const std::string netmask =
      Ipv4Subnet(own.address(), own.prefix_length() - 1).netmask().ToString();
  SetAddress(cluster, host, device, own.address().ToString(), netmask, true);
}

// Like another's, 256 higher.
void EndAlike(RandomCluster& cluster, int host, int device) {
  const int other = (host + 1) % static_cast<int>(cluster.facts.size());
  const Ipv4Interface like = OwnInterface(cluster, other, device);
  Replan(Ipv4Interface(Ipv4Address(like.address().bits() + 256),
                       like.prefix_length()),
         true, cluster, host, device);
  cluster.taken.insert({other, device});
}

FaultKind OfCluster(const char* name, const char* rule, State state,
                    const char* also, const Where& applies, const Make& make) {
  return {name, "", kOfCluster, rule, state, also, make, applies};
}

// A line of hccn.conf that brings another value at boot; "": of the switch.
FaultKind OtherStored(const char* name, const char* rule, absl::string_view key,
                      const std::string& value) {
  const Make make = [key, value](RandomCluster& cluster, int host, int device) {
    const DeviceFacts& facts = DeviceOf(cluster, host, device);
    const char* const switched = facts.tls().value().enabled() ? "0" : "1";
    WriteToConf(cluster.facts[host], key, facts.id(),
                value.empty() ? switched : value);
  };
  const Where applies = [](const RandomCluster& cluster, int host, int device) {
    return IsStored(cluster, host, device) &&
           IsClassic(cluster, host, device) && !Has(cluster, "old-tool");
  };
  return {name, "", kOfDevice, rule, WARN, "", make, applies};
}

// hccn.conf has another value of the key, or none.
Make Stored(const char* key, const char* value) {
  return [=](RandomCluster& cluster, int host, int device) {
    WriteToConf(cluster.facts[host], key, DeviceOf(cluster, host, device).id(),
                value);
  };
}
Make NotStored(const char* key) {
  return [=](RandomCluster& cluster, int host, int device) {
    RemoveFromConf(cluster.facts[host], key,
                   DeviceOf(cluster, host, device).id());
  };
}

void DetectFarAway(RandomCluster& cluster, int host, int device) {
  SetOther("netdetect", "10.252.9.8", true, cluster, host, device);
}

}  // namespace

void AddServers(int servers, RandomCluster& cluster) {
  cluster.spec.set_one_job(true);
  for (int s = cluster.spec.servers_size(); s < servers; ++s) {
    ServerSpec* server = cluster.spec.add_servers();
    server->set_host(absl::StrCat("another", s));
    server->set_address(Ipv4Address(0xac108001 + s).ToString());
    for (const DeviceSpec& like : cluster.spec.servers(0).devices()) {
      DeviceSpec* device = server->add_devices();
      device->set_id(like.id());
      if (like.address().empty()) continue;
      device->set_address(
          Ipv4Address(0x0c000000 + (s << 8) + like.id() + 1).ToString());
      device->set_netmask(like.netmask());
    }
  }
}

std::vector<FaultKind> AddressFaults() {
  return {
      {"ipv6-only", "", kOfDevice | kHides, "device-ip-set", UNKNOWN, "",
       [](RandomCluster& cluster, int host, int device) {
         SetAddress(cluster, host, device, "", "", true);
         Patch("ipv6_address { value: 'fd00::17/64' }",
               &DeviceOf(cluster, host, device));
       }},
      {"no-address", "address=none live_address=none", kOfDevice,
       "device-ip-set", FAIL, "",
       [](RandomCluster& cluster, int host, int device) {
         SetAddress(cluster, host, device, "", "", cluster.OneIn(2));
       }},
      {"other-subnet", "address=IPV4 live_address=IPV4", kOfDevice,
       "device-ip-planned", FAIL, "gateway detect-address",
       [](RandomCluster& cluster, int host, int device) {
         SetAddress(cluster, host, device, "10.250.9.9", "255.255.255.0",
                    cluster.OneIn(2));
       },
       HasPlan},
      {"other-netmask", "netmask=IPV4 live_netmask=IPV4", kOfDevice,
       "device-ip-planned", FAIL, "gateway detect-address",
       [](RandomCluster& cluster, int host, int device) {
         const std::string address = Live(cluster, host, device).address();
         SetAddress(cluster, host, device, address,
                    cluster.OneIn(2) ? "255.255.254.0" : "255.255.255.128",
                    cluster.OneIn(2));
       },
       HasPlan},
      {"address-twice", "address=IPV4", kOfDevice, "ip-unique", FAIL,
       "device-ip-planned gateway detect-address", TakeAddressOfAnother,
       AnotherIsFree},
      {"loopback", "address=IPV4", kOfDevice, "device-ip-allowed", FAIL,
       "device-ip-planned gateway detect-address",
       [](RandomCluster& cluster, int host, int device) {
         SetAddress(cluster, host, device, "127.0.0.9", "255.255.255.0", true);
       },
       HasPlan},
      {"not-stored", "stored_address=none", kOfDevice, "device-ip-persistent",
       FAIL, "", NotStored("address"), IsStored},
      {"another-stored", "stored_address=IPV4", kOfDevice,
       "device-ip-persistent", FAIL, "", Stored("address", "10.251.9.9"),
       IsStored},
      {"other-netmask-stored", "stored_netmask=IPV4", kOfDevice,
       "device-ip-persistent", FAIL, "", Stored("netmask", "255.0.0.0"),
       IsStored},
      {"gateway-outside", "gateway=IPV4 live_gateway=IPV4", kOfDevice,
       "gateway", FAIL, "gateway-persistent subnet-shared detect-address",
       [](RandomCluster& cluster, int host, int device) {
         DeviceFacts& facts = DeviceOf(cluster, host, device);
         facts.mutable_gateway()->set_value("10.252.9.9");
         if (Has(cluster, "dhcp")) return;
         WriteToConf(cluster.facts[host], "gateway", facts.id(), "10.252.9.9");
       },
       [](const RandomCluster& cluster, int, int) {
         return !ProfileOf(cluster).one_gateway_per_four;
       }},
      {"other-gateway-stored", "stored_gateway=TEXT", kOfDevice,
       "gateway-persistent", WARN, "", Stored("gateway", "10.253.9.9"),
       [](const RandomCluster& cluster, int host, int device) {
         return IsStored(cluster, host, device) &&
                IsClassic(cluster, host, device) &&
                HasGateway(cluster, host, device);
       }},
      {"detect-itself", "detect=IPV4", kOfDevice, "detect-address", FAIL, "",
       [](RandomCluster& cluster, int host, int device) {
         DeviceFacts& facts = DeviceOf(cluster, host, device);
         const std::string own = Live(cluster, host, device).address();
         facts.mutable_detect_address()->set_value(own);
         WriteToConf(cluster.facts[host], "netdetect", facts.id(), own);
       },
       Without{"no-detect-address"}},
      OtherStored("other-mtu-stored", "mtu-persistent", "mtu", "1280"),
      OtherStored("other-pfc-stored", "pfc-persistent", "bitmap",
                  "1,0,0,0,0,0,0,0"),
      OtherStored("other-dscp-stored", "dscp-persistent", "dscp_tc", "46:2,"),
      OtherStored("other-port-stored", "roce-port-persistent", "roce_port",
                  "4097"),
      OtherStored("other-tls-stored", "tls-persistent", "tls_enable", ""),
      FailsWhere(
          With{"tls-on"},
          {"certificate-ended", "", kOfDevice, "tls-certificates", WARN, "",
           OnDevice("tls { value { certificates { name: 'ca1' ends: "
                    "'2020' status: EXPIRED } } }")}),
      {"no-address-stored", "stored_address=none stored_netmask=none",
       kOfDevice, "device-ip-persistent", FAIL, "",
       [](RandomCluster& cluster, int host, int device) {
         const uint32_t id = DeviceOf(cluster, host, device).id();
         RemoveFromConf(cluster.facts[host], "address", id);
         RemoveFromConf(cluster.facts[host], "netmask", id);
       },
       IsStored},
      {"no-gateway-stored", "stored_gateway=none", kOfDevice,
       "gateway-persistent", WARN, "", NotStored("gateway"),
       [](const RandomCluster& cluster, int host, int device) {
         return IsStored(cluster, host, device) &&
                IsClassic(cluster, host, device) &&
                HasGateway(cluster, host, device) &&
                !ProfileOf(cluster).one_gateway_per_four;
       }},
      {"no-gateway", "gateway=none live_gateway=none", kOfDevice | kByVote,
       "gateway", WARN,
       "gateway-persistent subnet-shared=FAIL detect-address=FAIL",
       [](RandomCluster& cluster, int host, int device) {
         SetOther("gateway", "", WritesConf(cluster, host, device), cluster,
                  host, device);
       },
       [](const RandomCluster& cluster, int host, int device) {
         return !ProfileOf(cluster).one_gateway_per_four &&
                HasGateway(cluster, host, device) &&
                !PlannedOf(cluster, host, device).gateway().empty() &&
                HasLikes(cluster, host, device);
       }},
      {"detect-not-set", "detect=none", kOfDevice, "detect-address", FAIL,
       "detect-address-persistent net-health",
       [](RandomCluster& cluster, int host, int device) {
         SetOther("netdetect", "0.0.0.0", WritesConf(cluster, host, device),
                  cluster, host, device);
         DeviceOf(cluster, host, device)
             .mutable_net_health()
             ->set_value(NET_HEALTH_INIT);
       },
       PlansDetection},
      {"detect-outside", "detect=IPV4", kOfDevice, "detect-address", FAIL, "",
       DetectFarAway,
       [](const RandomCluster& cluster, int host, int device) {
         return PlansDetection(cluster, host, device) &&
                !HasGateway(cluster, host, device) &&
                !Has(cluster, "shared-gateways");
       }},
      {"detect-behind-gateway", "detect=IPV4", kOfDevice, "detect-address",
       WARN, "", DetectFarAway,
       [](const RandomCluster& cluster, int host, int device) {
         return PlansDetection(cluster, host, device) &&
                HasGateway(cluster, host, device);
       }},
      {"other-detect-stored", "", kOfDevice, "detect-address-persistent", WARN,
       "", Stored("netdetect", "10.253.9.9"),
       [](const RandomCluster& cluster, int host, int device) {
         return PlansDetection(cluster, host, device) &&
                IsClassic(cluster, host, device);
       }},
  };
}

std::vector<FaultKind> PlanFaults() {
  return {
      {"planned-apart", "", kOfDevice | kByVote, "subnet-pairs", FAIL,
       "subnet-across-hosts",
       [](RandomCluster& cluster, int host, int device) {
         Replan(Elsewhere(cluster, host, device, 9), true, cluster, host,
                device);
       },
       HasPairs},
      {"planned-together", "", kOfDevice | kByVote, "subnet-distinct", FAIL,
       "subnet-pairs subnet-across-hosts", MoveToNeighbour,
       HasRoomBesideNeighbour},
      {"pair-planned-elsewhere", "", kOfHost | kByVote, "subnet-across-hosts",
       FAIL, "", MovePair, CanMovePair},
      {"planned-without-route", "", kOfDevice | kByVote, "subnet-shared", FAIL,
       "gateway",
       [](RandomCluster& cluster, int host, int device) {
         Replan(Elsewhere(cluster, host, device, 9), false, cluster, host,
                device);
       },
       [](const RandomCluster& cluster, int host, int device) {
         const SubnetPlan plan = ProfileOf(cluster).subnet_plan;
         return plan != SubnetPlan::kPairs && plan != SubnetPlan::kFree &&
                !ProfileOf(cluster).one_gateway_per_four &&
                HasLikes(cluster, host, device);
       }},
      {"wider-netmask", "netmask=IPV4", kOfDevice | kByVote, "netmask-uniform",
       FAIL,
       "device-ip-planned subnet-pairs subnet-distinct subnet-across-hosts "
       "subnet-shared gateway detect-address",
       WidenNetmask, HasLikes},
      {"ends-alike", "", kOfDevice, "ip-host-part", FAIL, "", EndAlike,
       [](const RandomCluster& cluster, int host, int device) {
         return Has(cluster, "wide-subnets") &&
                AnotherIsFree(cluster, host, device);
       }},
      OfCluster(
          "too-many-servers", "cluster-size", FAIL, "cluster-size-power",
          [](const RandomCluster& cluster, int, int) {
            return ProfileOf(cluster).max_servers > 0 &&
                   !cluster.job.has_value() && !Has(cluster, "kernel-backlogs");
          },
          [](RandomCluster& cluster, int, int) {
            AddServers(static_cast<int>(ProfileOf(cluster).max_servers) + 1,
                       cluster);
          }),
      OfCluster(
          "no-power-of-two", "cluster-size-power", WARN, "",
          [](const RandomCluster& cluster, int, int) {
            return !Has(cluster, "kernel-backlogs") &&
                   !cluster.job.has_value() && cluster.facts.size() < 500;
          },
          [](RandomCluster& cluster, int, int) {
            const int servers = cluster.spec.servers_size();
            const bool is_power = (servers & (servers - 1)) == 0;
            AddServers(servers + (is_power ? 1 : 0), cluster);
          }),
  };
}

}  // namespace clusterd
