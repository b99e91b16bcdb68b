// Faults of devices: the facts that a host reports with each kind that a
// simulated server knows, and faults that only the facts can show.
#include <algorithm>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "tests/sim/random/rows.h"

namespace clusterd {
const ProductProfile& ProfileOf(const RandomCluster& cluster) {
  return **FindProductProfile(cluster.spec.product(), cluster.spec.mode());
}

bool Has(const RandomCluster& cluster, absl::string_view variation) {
  return absl::c_linear_search(cluster.variations, variation);
}

DeviceFacts& DeviceOf(RandomCluster& cluster, int host, int device) {
  return *cluster.facts[host].mutable_devices(device);
}

Make OnDevice(absl::string_view text) {
  return [text](RandomCluster& cluster, int host, int device) {
    Patch(text, &DeviceOf(cluster, host, device));
  };
}

Make OnHost(absl::string_view text) {
  return [text](RandomCluster& cluster, int host, int) {
    Patch(text, &cluster.facts[host]);
  };
}

// The device's queries have no answer; hccn.conf still has its TLS switch.
Make Silenced(absl::string_view reason, absl::string_view what) {
  return [=](RandomCluster& cluster, int host, int device) {
    DeviceFacts& facts = DeviceOf(cluster, host, device);
    constexpr const char* kFacts[][2] = {{"address", "ip"},
                                         {"gateway", "gateway"},
                                         {"detect_address", "netdetect"},
                                         {"net_health", "net_health"},
                                         {"link", "link"},
                                         {"lldp", "lldp"},
                                         {"mtu", "mtu"},
                                         {"recovery", "cfg"}};
    for (const auto& [fact, query] : kFacts) {
      Patch(absl::StrCat(fact, " { missing { reason: ", reason,
                         " detail: '`hccn_tool -i ", facts.id(), " -", query,
                         " -g`: ", what, "' } }"),
            &facts);
    }
  };
}

bool IsClassic(const RandomCluster& cluster, int, int) {
  return ProfileOf(cluster).generation == NpuToolFacts::CLASSIC;
}

bool HasLikes(const RandomCluster& cluster, int host, int device) {
  const uint32_t id = cluster.facts[host].devices(device).id();
  int likes = 0;
  for (int s = 0; s < static_cast<int>(cluster.facts.size()); ++s) {
    if (s != host && cluster.Planned(s, id) != nullptr) ++likes;
  }
  return likes >= 2 && !Has(cluster, "subset-of-devices");
}

FaultKind NoFact(const char* name, absl::string_view fact, const char* rule,
                 const char* also, const char* simulated) {
  const Make make = [fact](RandomCluster& cluster, int host, int device) {
    Patch(absl::StrCat(fact, " { missing { reason: ",
                       cluster.OneIn(2) ? "UNREADABLE" : "NOT_PERMITTED",
                       " detail: 'a word' } }"),
          &DeviceOf(cluster, host, device));
  };
  return {name, simulated, kOfDevice | kHides, rule, UNKNOWN, also, make};
}

FaultKind FailsWhere(std::function<bool(const RandomCluster&)> fails,
                     FaultKind kind) {
  kind.fails = std::move(fails);
  return kind;
}

namespace {

// The link is down, and the port's own probe ends in one of the ways that
// brings about.
void CutLink(RandomCluster& cluster, int host, int device) {
  constexpr NetHealth kResults[] = {NET_HEALTH_RECEIVE_TIMEOUT,
                                    NET_HEALTH_UNREACHABLE, NET_HEALTH_FAULT};
  DeviceFacts& facts = DeviceOf(cluster, host, device);
  facts.mutable_link()->set_value(LinkFact::DOWN);
  facts.mutable_lldp()->mutable_value()->Clear();
  if (facts.net_health().value() == NET_HEALTH_SUCCESS) {
    facts.mutable_net_health()->set_value(kResults[cluster.Pick(3)]);
  }
}

void FailHealth(RandomCluster& cluster, int host, int device) {
  constexpr NetHealth kResults[] = {
      NET_HEALTH_SOCKET_FAIL, NET_HEALTH_RECEIVE_TIMEOUT,
      NET_HEALTH_UNREACHABLE, NET_HEALTH_TIME_EXCEEDED,
      NET_HEALTH_FAULT,       NET_HEALTH_THREAD_ERROR,
      NET_HEALTH_UNKNOWN};
  DeviceOf(cluster, host, device)
      .mutable_net_health()
      ->set_value(kResults[cluster.Pick(7)]);
}

bool HasVnic(const RandomCluster& cluster, int, int) {
  return ProfileOf(cluster).in_super_pod && !Has(cluster, "old-tool");
}

bool PlansMtu(const RandomCluster& cluster) { return cluster.spec.has_mtu(); }

bool PlansLossless(const RandomCluster& cluster) {
  return cluster.spec.has_lossless();
}

// Not on a rail without LLDP answers.
bool TellsRail(const RandomCluster& cluster, int host, int device) {
  return HasLikes(cluster, host, device) && !Has(cluster, "old-tool");
}

}  // namespace

std::vector<FaultKind> PortFaults() {
  return {
      {"link", "link=DOWN", kOfDevice, "link", FAIL, "net-health optics",
       CutLink},
      {"net-health",
       "net_health=SocketFail net_health=ReceiveTimeout net_health=Unreachable "
       "net_health=TimeExceeded net_health=Fault net_health=ThreadError "
       "net_health=Unknown",
       kOfDevice, "net-health", FAIL, "", FailHealth},
      {"not-probed-yet", "net_health=Init", kOfDevice, "net-health", FAIL, "",
       OnDevice("net_health { value: NET_HEALTH_INIT }"),
       Without{"no-detect-address"}},
      {"detect-ip-set", "net_health=DetectIpSet", kOfDevice | kHides,
       "net-health", UNKNOWN, "",
       OnDevice("net_health { value: NET_HEALTH_DETECT_IP_SET }")},
      {"no-neighbour", "lldp=none", kOfDevice, "lldp", FAIL, "",
       [](RandomCluster& cluster, int host, int device) {
         DeviceOf(cluster, host, device)
             .mutable_lldp()
             ->mutable_value()
             ->Clear();
       }},
      {"gone", "gone=1", kOfDevice | kHides | kAlone, "device-count", FAIL, "",
       Silenced("TOOL_FAILED", "The device is not exist!")},
      {"hang", "hang=1", kOfDevice | kHides, "hccn-tool", UNKNOWN, "",
       Silenced("TIMED_OUT", "no answer in 10s (deadlines.command)")},
      {"busy", "busy=always", kOfDevice | kHides, "hccn-tool", UNKNOWN, "",
       Silenced("BUSY", "busy, 5 times")},
      {"rubbish", "answer=TEXT", kOfDevice | kHides, "hccn-tool", UNKNOWN, "",
       Silenced("UNREADABLE", "rubbish")},
      FailsWhere(PlansMtu,
                 {"mtu", "mtu=BYTES", kOfDevice | kByVote, "mtu-uniform", WARN,
                  "mtu-persistent", OnDevice("mtu { value: 4200 }"), HasLikes}),
      {"tls", "tls=0 tls=1", kOfDevice | kByVote, "tls-uniform", FAIL,
       "tls-persistent",
       [](RandomCluster& cluster, int host, int device) {
         TlsFact::Switch* tls =
             DeviceOf(cluster, host, device).mutable_tls()->mutable_value();
         tls->set_enabled(!tls->enabled());
       }},
      {"recovery-failed", "state=NAME=VALUE", kOfDevice, "hccn-conf", FAIL, "",
       OnDevice("recovery { value: FAIL }"),
       [](const RandomCluster& cluster, int host, int device) {
         return IsClassic(cluster, host, device) &&
                !Has(cluster, "roce-unused");
       }},
      NoFact("no-link-fact", "link", "link", ""),
      NoFact("no-health-fact", "net_health", "net-health", ""),
      NoFact("no-lldp-fact", "lldp", "lldp", "lldp-rail subnet-shared"),
      NoFact("no-mtu-fact", "mtu", "mtu-uniform", ""),
      NoFact("no-tls-fact", "tls", "tls-uniform", ""),
      NoFact("no-address-fact", "address", "device-ip-set",
             "device-ip-planned device-ip-persistent device-ip-allowed gateway "
             "gateway-persistent detect-address detect-address-persistent "
             "subnet-pairs subnet-distinct subnet-across-hosts subnet-shared "
             "ip-unique ip-host-part netmask-uniform subnet-superpod"),
      NoFact("no-gateway-fact", "gateway", "gateway",
             "gateway-persistent ip-unique subnet-shared"),
      NoFact("no-detect-fact", "detect_address", "detect-address",
             "detect-address-persistent net-health"),
  };
}

// A tool that prints more about a port than its address.
std::vector<FaultKind> CarrierFaults() {
  return {
      {"signal-lost", "state=NAME=VALUE", kOfDevice, "optics", WARN, "",
       OnDevice("optical { value { present: true alarms { name: 'Rx Los Flag' "
                "value: '0xf' } } }")},
      {"power-low", "state=NAME=VALUE", kOfDevice, "optics", WARN, "",
       OnDevice("optical { value { present: true alarms { name: 'Rx Power0' "
                "value: '0.1018 mW' limits: '0.1445 ~ 3.4673 mW' } } }")},
      {"link-fell", "state=NAME=VALUE", kOfDevice, "link-flaps", WARN, "",
       OnDevice("link_history { value { ups: 3 downs: 2 "
                "changes { seconds_ago: 3590 up: true } "
                "changes { seconds_ago: 3600 } } }")},
      {"speed", "state=NAME=VALUE", kOfDevice | kByVote, "speed-uniform", WARN,
       "", OnDevice("speed_mbps { value: 100000 }"),
       [](const RandomCluster& cluster, int host, int device) {
         return TellsRail(cluster, host, device) &&
                IsClassic(cluster, host, device);
       }},
      FailsWhere(PlansLossless,
                 {"pfc", "state=NAME=VALUE", kOfDevice | kByVote, "lossless",
                  WARN, "lossless pfc-persistent",
                  OnDevice("pfc { value: '0,0,1,0,0,0,0,0' }"), TellsRail}),
      FailsWhere(PlansLossless,
                 {"dscp", "state=NAME=VALUE", kOfDevice | kByVote, "lossless",
                  WARN, "lossless dscp-persistent",
                  OnDevice("dscp_to_tc { value: '33:2' }"), TellsRail}),
      FailsWhere(PlansLossless,
                 {"roce-port", "state=NAME=VALUE", kOfDevice | kByVote,
                  "lossless", WARN, "lossless roce-port-persistent",
                  OnDevice("roce_port { value: '5001' }"), TellsRail}),
      {"vnic-down", "state=NAME=VALUE", kOfDevice, "subnet-superpod", FAIL, "",
       OnDevice("vnic { value { up: false } }"), HasVnic},
      {"vnic-outside", "state=NAME=VALUE", kOfDevice, "subnet-superpod", FAIL,
       "", OnDevice("vnic { value { setting { address: '10.1.1.1' } } }"),
       HasVnic},
      {"other-switch", "lldp=SWITCH", kOfDevice, "lldp-rail", FAIL, "",
       OnDevice("lldp { value { system_name: 'spine-9' "
                "chassis_id: '6c:b1:58:00:09:09' } }"),
       With{"switches-planned"}},
      {"npu-for-switch", "lldp=npu", kOfDevice, "lldp-rail", FAIL, "",
       OnDevice("lldp { value { peer: NPU system_name: '' "
                "chassis_id: '00:00:00:00:09:09' port_id: 'eth9' } }"),
       With{"switches-planned"}},
      NoFact("no-optical-fact", "optical", "optics", ""),
      NoFact("no-link-history", "link_history", "link-flaps", ""),
      NoFact("no-pfc-fact", "pfc", "lossless", ""),
      NoFact("no-roce-port", "roce_port", "lossless", ""),
      NoFact("no-speed-fact", "speed_mbps", "speed-uniform", ""),
  };
}

const std::vector<FaultKind>& FaultKinds() {
  static const auto* const kinds = [] {
    auto* all = new std::vector<FaultKind>;
    for (const auto& group : {PortFaults(), CarrierFaults(), AddressFaults(),
                              PlanFaults(), ChipFaults(), HostFaults(),
                              LaunchFaults(), JobFaults(), SshFaults()}) {
      all->insert(all->end(), group.begin(), group.end());
    }
    return all;
  }();
  return *kinds;
}

}  // namespace clusterd
