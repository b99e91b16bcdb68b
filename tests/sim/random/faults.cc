// Everything that can be wrong: of each kind of fault that a simulated server
// knows the facts that a host then reports, and what the facts alone can show.
#include <algorithm>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "config/spec/product_profile.h"
#include "config/values/ipv4.h"
#include "tests/sim/random/random_cluster.h"

namespace clusterd {
namespace {

using Make = std::function<void(RandomCluster&, int, int)>;
using Applies = std::function<bool(const RandomCluster&, int, int)>;

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

// The device's queries have no answer; hccn.conf still tells its TLS switch.
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

bool IsStored(const RandomCluster& cluster, int, int) {
  return !Has(cluster, "dhcp");
}

bool IsClassic(const RandomCluster& cluster, int, int) {
  return ProfileOf(cluster).generation == NpuToolFacts::CLASSIC;
}

bool HasGateway(const RandomCluster& cluster, int host, int device) {
  return !cluster.facts[host].devices(device).gateway().value().empty();
}

// The address of the other device, which then has to keep it.
void TakeAddressOfAnother(RandomCluster& cluster, int host, int device) {
  const int other = (host + 1) % cluster.spec.servers_size();
  const Ipv4Setting setting = Live(cluster, other, device);
  SetAddress(cluster, host, device, setting.address(), setting.netmask(), true);
  cluster.taken.insert({other, device});
}

bool AnotherIsFree(const RandomCluster& cluster, int host, int device) {
  const int other = (host + 1) % cluster.spec.servers_size();
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

// The tool said nothing that can be read about any device.
void SilenceTool(RandomCluster& cluster, int host, int) {
  for (int d = 0; d < cluster.facts[host].devices_size(); ++d) {
    Silenced("UNREADABLE", "status 0 without a word")(cluster, host, d);
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

// One fact of a device that is not there, so that `rule` cannot tell.
FaultKind NoFact(const char* name, absl::string_view fact, const char* rule,
                 const char* also) {
  return {name,
          "answer",
          true,
          rule,
          UNKNOWN,
          also,
          true,
          nullptr,
          [fact](RandomCluster& cluster, int host, int device) {
            Patch(
                absl::StrCat(fact, " { missing { reason: ",
                             cluster.OneIn(2) ? "UNREADABLE" : "NOT_PERMITTED",
                             " detail: 'a word' } }"),
                &DeviceOf(cluster, host, device));
          }};
}

// The same of a host.
FaultKind NoHostFact(const char* name, absl::string_view text, const char* rule,
                     const char* also = "") {
  return {name, "", false, rule, UNKNOWN, also, true, nullptr, OnHost(text)};
}

std::vector<FaultKind> PortFaults() {
  return {
      {"link", "link", true, "link", FAIL, "net-health", false, nullptr,
       CutLink},
      {"net-health", "net_health", true, "net-health", FAIL, "", false, nullptr,
       FailHealth},
      {"detect-ip-set", "net_health", true, "net-health", UNKNOWN, "", true,
       nullptr, OnDevice("net_health { value: NET_HEALTH_DETECT_IP_SET }")},
      {"no-neighbour", "lldp", true, "lldp", FAIL, "", false, nullptr,
       [](RandomCluster& cluster, int host, int device) {
         DeviceOf(cluster, host, device)
             .mutable_lldp()
             ->mutable_value()
             ->Clear();
       }},
      {"gone", "gone", true, "device-count", FAIL, "", true, nullptr,
       Silenced("TOOL_FAILED", "The device is not exist!"), false, true},
      {"hang", "hang", true, "hccn-tool", UNKNOWN, "", true, nullptr,
       Silenced("TIMED_OUT", "no answer in 10s (deadlines.command)")},
      {"busy", "busy", true, "hccn-tool", UNKNOWN, "", true, nullptr,
       Silenced("BUSY", "busy, 5 times")},
      {"rubbish", "answer", true, "hccn-tool", UNKNOWN, "", true, nullptr,
       Silenced("UNREADABLE", "rubbish")},
      {"mtu", "mtu", true, "mtu-uniform", WARN, "", false, nullptr,
       OnDevice("mtu { value: 4200 }"), true},
      {"tls", "tls", true, "tls-uniform", FAIL, "", false, nullptr,
       [](RandomCluster& cluster, int host, int device) {
         TlsFact::Switch* tls =
             DeviceOf(cluster, host, device).mutable_tls()->mutable_value();
         tls->set_enabled(!tls->enabled());
       },
       true},
      {"recovery-failed", "state", true, "hccn-conf", FAIL, "", false,
       IsClassic, OnDevice("recovery { value: FAIL }")},
      NoFact("no-link-fact", "link", "link", ""),
      NoFact("no-health-fact", "net_health", "net-health", ""),
      NoFact("no-lldp-fact", "lldp", "lldp", ""),
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
             "detect-address-persistent"),
  };
}

std::vector<FaultKind> AddressFaults() {
  return {
      {"no-address", "address", true, "device-ip-set", FAIL, "", false, nullptr,
       [](RandomCluster& cluster, int host, int device) {
         SetAddress(cluster, host, device, "", "", true);
       }},
      {"other-subnet", "address live_address", true, "device-ip-planned", FAIL,
       "gateway detect-address", false, HasPlan,
       [](RandomCluster& cluster, int host, int device) {
         SetAddress(cluster, host, device, "10.250.9.9", "255.255.255.0",
                    cluster.OneIn(2));
       }},
      {"other-netmask", "netmask live_netmask", true, "device-ip-planned", FAIL,
       "gateway detect-address", false, HasPlan,
       [](RandomCluster& cluster, int host, int device) {
         const std::string address = Live(cluster, host, device).address();
         SetAddress(cluster, host, device, address,
                    cluster.OneIn(2) ? "255.255.254.0" : "255.255.255.128",
                    cluster.OneIn(2));
       }},
      {"address-twice", "address", true, "device-ip-planned", FAIL,
       "gateway detect-address", false, AnotherIsFree, TakeAddressOfAnother},
      {"loopback", "address", true, "device-ip-planned", FAIL,
       "gateway detect-address", false, HasPlan,
       [](RandomCluster& cluster, int host, int device) {
         SetAddress(cluster, host, device, "127.0.0.9", "255.255.255.0", true);
       }},
      {"not-stored", "stored_address", true, "device-ip-persistent", FAIL, "",
       false, IsStored,
       [](RandomCluster& cluster, int host, int device) {
         RemoveFromConf(cluster.facts[host], "address",
                        DeviceOf(cluster, host, device).id());
       }},
      {"another-stored", "stored_address", true, "device-ip-persistent", FAIL,
       "", false, IsStored,
       [](RandomCluster& cluster, int host, int device) {
         WriteToConf(cluster.facts[host], "address",
                     DeviceOf(cluster, host, device).id(), "10.251.9.9");
       }},
      {"other-netmask-stored", "stored_netmask", true, "device-ip-persistent",
       FAIL, "", false, IsStored,
       [](RandomCluster& cluster, int host, int device) {
         WriteToConf(cluster.facts[host], "netmask",
                     DeviceOf(cluster, host, device).id(), "255.0.0.0");
       }},
      {"gateway-outside", "gateway live_gateway", true, "gateway", FAIL,
       "gateway-persistent subnet-shared detect-address", false,
       [](const RandomCluster& cluster, int, int) {
         return !ProfileOf(cluster).one_gateway_per_four;
       },
       [](RandomCluster& cluster, int host, int device) {
         DeviceFacts& facts = DeviceOf(cluster, host, device);
         facts.mutable_gateway()->set_value("10.252.9.9");
         if (Has(cluster, "dhcp")) return;
         WriteToConf(cluster.facts[host], "gateway", facts.id(), "10.252.9.9");
       }},
      {"other-gateway-stored", "stored_gateway", true, "gateway-persistent",
       WARN, "", false,
       [](const RandomCluster& cluster, int host, int device) {
         return IsStored(cluster, host, device) &&
                IsClassic(cluster, host, device) &&
                HasGateway(cluster, host, device);
       },
       [](RandomCluster& cluster, int host, int device) {
         WriteToConf(cluster.facts[host], "gateway",
                     DeviceOf(cluster, host, device).id(), "10.253.9.9");
       }},
      {"detect-itself", "detect", true, "detect-address", FAIL, "", false,
       [](const RandomCluster& cluster, int, int) {
         return !Has(cluster, "no-detect-address");
       },
       [](RandomCluster& cluster, int host, int device) {
         DeviceFacts& facts = DeviceOf(cluster, host, device);
         const std::string own = Live(cluster, host, device).address();
         facts.mutable_detect_address()->set_value(own);
         WriteToConf(cluster.facts[host], "netdetect", facts.id(), own);
       }},
  };
}

std::vector<FaultKind> HostFaults() {
  return {
      {"somaxconn", "somaxconn", false, "listen-backlog", FAIL, "", false,
       nullptr, OnHost("kernel { somaxconn { value: 8 } }")},
      {"syn-backlog", "syn_backlog", false, "syn-backlog", FAIL, "", false,
       nullptr, OnHost("kernel { tcp_max_syn_backlog { value: 8 } }")},
      {"ports-not-reserved", "reserved_ports", false, "ports-reserved", FAIL,
       "", false, nullptr,
       [](RandomCluster& cluster, int host, int) {
         cluster.facts[host]
             .mutable_kernel()
             ->mutable_reserved_ports()
             ->set_value(cluster.OneIn(2) ? "" : "60002-60031,8080");
       }},
      {"not-persistent", "persistent", false, "sysctl-persistent", WARN, "",
       false, nullptr, EndBootValue},
      {"port-held", "listen", false, "ports-free", WARN, "", false, nullptr,
       OnHost("sockets { value { sockets { port: 60001 protocol: 'tcp' "
              "address: '0.0.0.0' state: 'LISTEN' pid: 77 command: 'nginx' "
              "} } }")},
      {"firewall", "ufw", false, "firewall", FAIL, "", false, nullptr,
       RunFirewall},
      {"conf-lost", "hccn_conf", false, "hccn-conf", FAIL, "", true, nullptr,
       LoseConf},
      {"conf-empty", "hccn_conf", false, "device-ip-persistent", FAIL,
       "gateway-persistent detect-address-persistent", false,
       [](const RandomCluster& cluster, int host, int device) {
         return IsStored(cluster, host, device) &&
                IsClassic(cluster, host, device);
       },
       EmptyConf},
      {"conf-no-newline", "hccn_conf", false, "hccn-conf", FAIL, "", false,
       nullptr, ConfProblem("NO_FINAL_NEWLINE")},
      {"conf-crlf", "hccn_conf", false, "hccn-conf", FAIL, "", false, nullptr,
       ConfProblem("CARRIAGE_RETURN")},
      {"no-tool", "tool", false, "hccn-tool", UNKNOWN, "", true, nullptr,
       LoseTool, false, true},
      {"silent-tool", "tool", false, "hccn-tool", UNKNOWN, "", true, nullptr,
       SilenceTool, false, true},
      {"device-lost", "device", false, "device-count", FAIL, "", false,
       [](const RandomCluster& cluster, int host, int) {
         return cluster.facts[host].devices_size() > 1;
       },
       LoseDevice, false, true},
      {"two-machines", "machine_id", false, "host-identity", FAIL, "", false,
       nullptr, OnHost("conflict: 'another machine with machine id 4711'")},
      {"silent", "", false, "host-identity", UNKNOWN, "", true, nullptr,
       Silence, false, true},
      {"driver", "driver", false, "version-uniform", WARN, "driver-compat",
       false, nullptr, OnHost("versions { driver { value: '22.0.4' } }"), true},
      {"firmware", "firmware", false, "version-uniform", WARN, "driver-compat",
       false, nullptr, OnHost("versions { firmware { value: '1.9' } }"), true},
      {"cann", "", false, "version-uniform", WARN, "driver-compat", false,
       [](const RandomCluster& cluster, int, int) {
         return !Has(cluster, "cann-in-containers") &&
                !Has(cluster, "sixteen-ports");
       },
       OnHost("versions { cann { value: '7.0.0' } }"), true},
      {"other-series", "", false, "version-uniform", FAIL, "", false,
       [](const RandomCluster& cluster, int, int) {
         return !ProfileOf(cluster).npu_series.empty();
       },
       OnHost("identity { npu_series { value: 'A9' } }"), true},
      {"drifted", "", false, "drift", WARN, "", false,
       [](const RandomCluster& cluster, int, int) {
         return !Has(cluster, "no-record-of-applies");
       },
       OnHost("drift { value { drifts { apply_id: '3fa2c4d5e6f70812' "
              "kind: 'sysctl' change: 'net.core.somaxconn: 4096 -> 65535' "
              "target: 'net.core.somaxconn' to: '65535' "
              "why: 'net.core.somaxconn is 128' } } }")},
      NoHostFact("no-somaxconn",
                 "kernel { somaxconn { missing { reason: UNREADABLE } } }",
                 "listen-backlog"),
      NoHostFact("no-reserved-ports",
                 "kernel { reserved_ports { missing { reason: UNREADABLE } } }",
                 "ports-reserved"),
      NoHostFact("no-boot-values",
                 "kernel { somaxconn_at_boot { missing { reason: "
                 "NOT_PERMITTED } } }",
                 "sysctl-persistent"),
      NoHostFact("no-sockets", "sockets { missing { reason: UNREADABLE } }",
                 "ports-free"),
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

}  // namespace

const std::vector<FaultKind>& FaultKinds() {
  static const auto* const kinds = [] {
    auto* all = new std::vector<FaultKind>;
    for (const auto& group : {PortFaults(), AddressFaults(), HostFaults()}) {
      all->insert(all->end(), group.begin(), group.end());
    }
    return all;
  }();
  return *kinds;
}

}  // namespace clusterd
