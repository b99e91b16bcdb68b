// Makes a random cluster: product and size, address plan, variations, faults,
// in this order.
#include "tests/sim/random/random_cluster.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "config/rules/catalogue.h"
#include "config/spec/product_profile.h"
#include "config/values/ipv4.h"
#include "tests/sim/facts/healthy_facts.h"
#include "tests/sim/random/rows.h"

namespace clusterd {
namespace {

constexpr uint32_t kTen = 0x0a000000;  // 10.0.0.0

std::string AddressText(uint32_t bits) { return Ipv4Address(bits).ToString(); }

// Small clusters as often as large ones: 2 to 4 servers are as likely as 500 to
// 1,000.
int PickServers(const RandomOptions& options, RandomCluster& cluster) {
  const double most = std::log2(options.max_servers);
  const double part = static_cast<double>(cluster.Pick(1000)) / 999;
  return std::max(2, static_cast<int>(std::exp2(1 + part * (most - 1))));
}

bool IsRouted(const ProductProfile& profile) {
  return profile.subnet_plan == SubnetPlan::kShared ||
         profile.subnet_plan == SubnetPlan::kFree;
}

// All devices of the cluster in 10.0.0.0/16, with a gateway or without.
void PlanOneSubnet(bool gateway, ClusterSpec* spec) {
  uint32_t next = kTen + 1;
  for (ServerSpec& server : *spec->mutable_servers()) {
    for (DeviceSpec& device : *server.mutable_devices()) {
      device.set_address(AddressText(next++));
      device.set_netmask("255.255.0.0");
      device.set_detect_address("10.0.255.254");
      device.set_gateway(gateway ? "10.0.255.254" : "");
    }
  }
}

// Devices of one index in one subnet, 10.INDEX.0.0/16.
void PlanRails(bool gateway, ClusterSpec* spec) {
  const int servers = spec->servers_size();
  for (int s = 0; s < servers; ++s) {
    const int peer = s == 0 ? 1 : 0;
    for (DeviceSpec& device : *spec->mutable_servers(s)->mutable_devices()) {
      const uint32_t rail = kTen + (device.id() << 16);
      device.set_address(AddressText(rail + 1 + s));
      device.set_netmask("255.255.0.0");
      device.set_gateway(gateway ? AddressText(rail + 0xfffe) : "");
      device.set_detect_address(
          AddressText(rail + (gateway ? 0xfffe : 1 + peer)));
    }
  }
}

// A subnet with a gateway for every rack of four servers, 10.0.0.0/18 on.
void PlanRacks(ClusterSpec* spec) {
  constexpr int kRackServers = 4;
  for (int s = 0; s < spec->servers_size(); ++s) {
    const uint32_t rack =
        kTen + (static_cast<uint32_t>(s / kRackServers) << 14);
    ServerSpec* server = spec->mutable_servers(s);
    for (int d = 0; d < server->devices_size(); ++d) {
      DeviceSpec* device = server->mutable_devices(d);
      device->set_address(AddressText(
          rack + 1 + s % kRackServers * server->devices_size() + d));
      device->set_netmask("255.255.192.0");
      device->set_gateway(AddressText(rack + 0x3ffe));
      device->set_detect_address(device->gateway());
    }
  }
}

// The pairs of the product in 10.RAIL.0.0/16, where the last 8 bits of the
// addresses can be alike.
void PlanWideSubnets(ClusterSpec* spec) {
  for (int s = 0; s < spec->servers_size(); ++s) {
    for (DeviceSpec& device : *spec->mutable_servers(s)->mutable_devices()) {
      const uint32_t rail = kTen + (device.id() % 4 << 16);
      device.set_address(AddressText(rail + 1 + 2 * s + device.id() / 4));
      device.set_netmask("255.255.0.0");
      device.set_gateway(AddressText(rail + 0xfffe));
      device.set_detect_address(device.gateway());
    }
  }
}

// Some machines of the row are not of the cluster.
void LeaveGapsInNames(RandomCluster& cluster) {
  int number = 0;
  for (ServerSpec& server : *cluster.spec.mutable_servers()) {
    number += 1 + static_cast<int>(cluster.Pick(3));
    server.set_host(absl::StrCat("node-", number));
  }
}

// The product's own plan without a router: a device probes one of another
// server, as the vendor's two-server document has it.
void PlanWithoutGateways(ClusterSpec* spec) {
  for (int s = 0; s < spec->servers_size(); ++s) {
    const ServerSpec& other = spec->servers(s == 0 ? 1 : 0);
    ServerSpec* server = spec->mutable_servers(s);
    for (int d = 0; d < server->devices_size(); ++d) {
      server->mutable_devices(d)->clear_gateway();
      server->mutable_devices(d)->set_detect_address(
          other.devices(d).address());
    }
  }
}

void Note(const std::string& name, const std::string& warnings,
          bool (*warns_of)(int host), RandomCluster& cluster) {
  cluster.variations.push_back(name);
  for (const absl::string_view rule :
       absl::StrSplit(warnings, ' ', absl::SkipEmpty())) {
    std::set<int>& hosts = cluster.warnings[std::string(rule)];
    if (warns_of == nullptr) hosts.insert(-1);
    for (int h = 0; h < cluster.spec.servers_size(); ++h) {
      if (warns_of == nullptr || warns_of(h)) hosts.insert(h);
    }
  }
}

bool IsAllowed(const RandomOptions& options, const std::string& name) {
  return options.without.count(name) == 0 &&
         (options.only.empty() || options.only.count(name) > 0);
}

// Every device hears the same device of the other server: no switch between.
void CableDirectly(RandomCluster& cluster) {
  for (int s = 0; s < 2; ++s) {
    for (DeviceFacts& device : *cluster.facts[s].mutable_devices()) {
      LldpNeighbour* neighbour = device.mutable_lldp()->mutable_value();
      neighbour->set_peer(LldpNeighbour::NPU);
      neighbour->set_system_name("");
      neighbour->set_chassis_id(
          absl::StrCat("00:00:00:00:", 1 - s, ":", device.id()));
      neighbour->set_port_id(absl::StrCat("eth", device.id()));
    }
  }
}

// Addresses of the spec, then the facts that go with it.
void PlanAndMakeFacts(const RandomOptions& options, RandomCluster& cluster) {
  ClusterSpec* spec = &cluster.spec;
  const ProductProfile& profile =
      **FindProductProfile(spec->product(), spec->mode());
  const bool two = spec->servers_size() == 2;
  bool direct = false;
  const auto take = [&](const char* name, bool applies,
                        const char* warnings = "") {
    const bool taken = applies && cluster.OneIn(3) && IsAllowed(options, name);
    if (taken) Note(name, warnings, nullptr, cluster);
    return taken;
  };
  if (take("direct-cabling", two && IsRouted(profile))) {
    PlanRails(false, spec);
    direct = true;
  } else if (take("direct-cabling",
                  two && profile.subnet_plan == SubnetPlan::kPairs)) {
    PlanWithoutGateways(spec);
    direct = true;
  } else if (take("vlan-rails", IsRouted(profile), "subnet-shared")) {
    PlanRails(false, spec);
  } else if (take("rails-with-gateways", IsRouted(profile))) {
    PlanRails(true, spec);
  } else if (take("rack-subnets", IsRouted(profile))) {
    PlanRacks(spec);
  } else if (take("wide-subnets", profile.subnet_plan == SubnetPlan::kPairs &&
                                      spec->servers_size() <= 120)) {
    PlanWideSubnets(spec);
  } else if (take("one-subnet", IsRouted(profile))) {
    PlanOneSubnet(cluster.OneIn(2), spec);
  } else if (take("without-gateways",
                  profile.subnet_plan == SubnetPlan::kPairs)) {
    PlanWithoutGateways(spec);
  }
  if (take("gaps-in-names", true)) LeaveGapsInNames(cluster);
  cluster.facts = MakeHealthyFacts(cluster.spec);
  if (direct) CableDirectly(cluster);
}

// True if both faults disturb each other on one host.
bool Disturb(const PlacedFault& fault, const FaultKind& kind, int device) {
  if (fault.kind->Is(kAlone) || kind.Is(kAlone)) return true;
  // A finding about the host is one about its devices, too.
  if ((fault.device == -1) != (device == -1)) return true;
  return device == -1 && absl::string_view(fault.kind->rule) == kind.rule;
}

// True if no fault touches the place, nor one that this fault would hide.
bool IsFree(const RandomCluster& cluster, const FaultKind& kind, int host,
            int device) {
  bool by_vote = kind.Is(kByVote);
  for (const PlacedFault& fault : cluster.faults) {
    if (fault.host == host && Disturb(fault, kind, device)) return false;
    by_vote |= fault.kind->Is(kByVote);
  }
  const int devices = kind.Is(kAlone) ? cluster.facts[host].devices_size() : 0;
  for (int d = 0; d < devices; ++d) {
    if (cluster.taken.count({host, d}) > 0) return false;
  }
  // Most hosts are in order.
  const bool decided =
      !by_vote || 2 * (cluster.faults.size() + 1) < cluster.facts.size();
  return decided && cluster.taken.count({host, device}) == 0;
}

void PlaceFault(const FaultKind& kind, RandomCluster& cluster) {
  const int host = kind.Is(kOfCluster)
                       ? -1
                       : static_cast<int>(cluster.Pick(cluster.facts.size()));
  int device = -1;
  if (kind.Is(kOfDevice)) {
    if (cluster.facts[host].devices().empty()) return;
    device = static_cast<int>(cluster.Pick(cluster.facts[host].devices_size()));
    const uint32_t id = cluster.facts[host].devices(device).id();
    // A device outside the plan cannot be broken.
    if (cluster.Planned(host, id) == nullptr) return;
  }
  // A job inside a super pod uses no RoCE port either.
  const bool on_hccs = cluster.spec.roce_unused() ||
                       (cluster.job && ProfileOf(cluster).in_super_pod);
  const bool of_port =
      FindRule(kind.rule)->needs_roce ||
      (cluster.job && absl::string_view(kind.rule) == "hccn-conf");
  if (on_hccs && of_port) return;
  if (!IsFree(cluster, kind, host, device)) return;
  if (kind.applies && !kind.applies(cluster, host, device)) return;
  kind.make(cluster, host, device);
  cluster.taken.insert({host, device});
  cluster.faults.push_back({&kind, host, device});
}

// Those of jobs, most of which touch a whole cluster and so come first.
const std::vector<const FaultKind*>& OfJobs() {
  static const auto* const kinds = [] {
    auto* found = new std::vector<const FaultKind*>;
    for (const FaultKind& kind : FaultKinds()) {
      if (kind.Is(kOfCluster) && FindRule(kind.rule)->needs_job) {
        found->push_back(&kind);
      }
    }
    return found;
  }();
  return *kinds;
}

}  // namespace

const DeviceSpec* RandomCluster::Planned(int host, uint32_t device) const {
  for (const DeviceSpec& planned : spec.servers(host).devices()) {
    if (planned.id() == device) return &planned;
  }
  return nullptr;
}

RandomCluster MakeRandomCluster(uint64_t seed, const RandomOptions& options) {
  RandomCluster cluster;
  cluster.seed = seed;
  cluster.random.seed(seed);
  const ProductProfile& profile =
      AllProductProfiles()[cluster.Pick(AllProductProfiles().size())];
  cluster.spec =
      MakeSpec(profile.name, profile.mode, PickServers(options, cluster));
  PlanAndMakeFacts(options, cluster);
  if (cluster.OneIn(3) && IsAllowed(options, "job")) {
    NarrowToRandomJob(cluster);
    Note("job", "", nullptr, cluster);
  }
  for (const Variation& variation : Variations()) {
    if (!cluster.OneIn(variation.one_in) || !variation.applies(cluster) ||
        !IsAllowed(options, variation.name)) {
      continue;
    }
    variation.make(cluster);
    Note(variation.name, variation.warnings, variation.warns_of, cluster);
  }
  // A third of the clusters is healthy.
  const bool healthy = cluster.OneIn(3);
  if (!healthy && cluster.job.has_value() && cluster.OneIn(3)) {
    const FaultKind& kind = *OfJobs()[cluster.Pick(OfJobs().size())];
    if (IsAllowed(options, kind.name)) PlaceFault(kind, cluster);
  }
  for (int i = 0; !healthy && i < options.max_faults; ++i) {
    const FaultKind& kind = FaultKinds()[cluster.Pick(FaultKinds().size())];
    if (IsAllowed(options, kind.name)) PlaceFault(kind, cluster);
  }
  return cluster;
}

std::string Describe(const RandomCluster& cluster) {
  std::vector<std::string> faults;
  for (const PlacedFault& fault : cluster.faults) {
    if (fault.host < 0) {
      faults.push_back(fault.kind->name);
      continue;
    }
    const HostFacts& host = cluster.facts[fault.host];
    faults.push_back(absl::StrCat(
        fault.kind->name, " at ", host.host(),
        fault.device < 0
            ? ""
            : absl::StrCat(" device ", host.devices(fault.device).id())));
  }
  return absl::StrCat("seed ", cluster.seed, ": ", cluster.spec.product(), " ",
                      cluster.spec.mode(), ", ", cluster.spec.servers_size(),
                      " servers; ", absl::StrJoin(cluster.variations, ", "),
                      "; ", absl::StrJoin(faults, ", "));
}

void RemoveFromConf(HostFacts& host, absl::string_view key, uint32_t device) {
  auto* entries = host.mutable_hccn_conf()->mutable_value()->mutable_entries();
  entries->erase(std::remove_if(entries->begin(), entries->end(),
                                [&](const HccnConf::Entry& entry) {
                                  return entry.has_device() &&
                                         entry.device() == device &&
                                         entry.key() == key;
                                }),
                 entries->end());
}

void WriteToConf(HostFacts& host, absl::string_view key, uint32_t device,
                 const std::string& value) {
  HccnConf* conf = host.mutable_hccn_conf()->mutable_value();
  for (HccnConf::Entry& entry : *conf->mutable_entries()) {
    if (entry.device() != device || entry.key() != key) continue;
    entry.set_value(value);
    return;
  }
  HccnConf::Entry* entry = conf->add_entries();
  entry->set_key(std::string(key));
  entry->set_device(device);
  entry->set_value(value);
  entry->set_line(conf->entries_size());
}

}  // namespace clusterd
