// Each device's own addresses: device IP, gateway, detect address; and
// addresses that must differ, as a whole and in their last 8 bits.
// subnet_rules.cc compares the subnets of devices.
#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "config/rules/rule_report.h"
#include "config/rules/view/cluster_view.h"
#include "config/spec/product_profile.h"
#include "config/values/ipv4.h"
#include "config/words/subject_text.h"

namespace clusterd {
namespace {

// A mistake of an address, in words that follow it; null: none.
using Mistake = std::optional<FindingValue>;

// The mistake of a network or broadcast address; not for 31 or 32 bits.
Mistake EdgeOf(Ipv4Address address, const Ipv4Subnet& subnet) {
  const bool is_network = address == subnet.network();
  const bool is_edge = is_network || address == subnet.broadcast();
  if (!is_edge || subnet.prefix_length() >= 31) return std::nullopt;
  return Worded(is_network ? "is-network-address" : "is-broadcast-address",
                subnet.ToString());
}

// Why the address is not another host of the subnet.
Mistake WhyNoNeighbour(Ipv4Address address, const Ipv4Interface& own) {
  if (address == own.address()) return Worded("is-own-address");
  if (own.subnet().Contains(address)) return EdgeOf(address, own.subnet());
  return Worded("is-outside-subnet", own.subnet().ToString());
}

// Why no device of this product can use the address.
Mistake WhyNotUsable(Ipv4Address address, const ProductProfile& profile) {
  if (address.IsLoopback()) return Worded("is-loopback");
  if (address.IsMulticast()) return Worded("is-multicast");
  if (address.IsClassE()) return Worded("is-class-e");
  for (const ReservedSubnet& reserved : profile.reserved) {
    if (!reserved.subnet.Contains(address)) continue;
    return Worded("is-reserved", reserved.subnet.ToString(),
                  Term(reserved.why));
  }
  return std::nullopt;
}

Mistake WhyNotAllowed(const Ipv4Interface& interface,
                      const ProductProfile& profile) {
  if (interface.prefix_length() == 0) return Worded("has-netmask-zero");
  const Mistake why = WhyNotUsable(interface.address(), profile);
  return why ? why : EdgeOf(interface.address(), interface.subnet());
}

// A finding about an observed value; the planned one is expected.
NamedFinding UnlikePlan(const FindingValue& observed, const AddressKind& kind,
                        const DeviceView& device, const RuleReport& report) {
  const std::optional<Ipv4Address>& planned = device.*kind.planned;
  return planned.has_value()
             ? report.Named("not-as-planned", observed, kind.command,
                            planned->ToString())
             : report.Named("not-planned", observed, kind.command,
                            Term(kind.name),
                            device.Address().subnet().ToString());
}

void AddWarning(const FindingValue& observed, const AddressKind& kind,
                const DeviceView& device, RuleReport& report) {
  NamedFinding text = UnlikePlan(observed, kind, device, report);
  text.state = WARN;
  report.Add(device, std::move(text));
}

// `fits_plan`: valid beside the device's planned address.
void AddFailure(const FindingValue& observed, const AddressKind& kind,
                const DeviceView& device, bool fits_plan, RuleReport& report) {
  const Ipv4Address live = *(device.*kind.live);
  if (live.IsUnset() || device.*kind.planned != live) {
    report.Add(device, UnlikePlan(observed, kind, device, report));
  } else if (fits_plan && !device.HasPlannedAddress()) {
    report.Add(device, "suits-planned-address", observed, Term(kind.name),
               live.ToString(), device.planned->ToString());
  } else {
    report.Add(device, "does-not-suit", observed, kind.command,
               Term(kind.name));
  }
}

void JudgeGateway(const DeviceView& device, RuleReport& report) {
  const Ipv4Address gateway = *device.gateway;
  if (gateway.IsUnset()) {
    if (!device.planned_gateway.has_value()) return;
    return AddWarning(Worded("no-gateway-set"), kGateway, device, report);
  }
  if (const Mistake broken = WhyNoNeighbour(gateway, device.Address())) {
    const bool fits_plan =
        device.planned.has_value() && !WhyNoNeighbour(gateway, *device.planned);
    AddFailure(Worded("gateway-broken", gateway.ToString(), *broken), kGateway,
               device, fits_plan, report);
  } else if (device.planned_gateway.value_or(gateway) != gateway) {
    AddWarning(Worded("gateway-is", gateway.ToString()), kGateway, device,
               report);
  }
}

// True if a plan gives the gateway for both to a lower device.
bool WaitsForAnother(const ClusterView& view, const DeviceView& device) {
  const auto& devices = device.host->devices;
  return device.gateway.IsUnset() &&
         absl::c_any_of(devices, [&](const DeviceView& other) {
           return other.id < device.id && other.HasAddress() &&
                  ShareGateway(view.profile(), other.id, device.id) &&
                  other.planned_gateway && other.gateway.IsUnset();
         });
}

// False, with the finding added, if it is not known whether another device has
// the gateway for both.
bool KnowsSharing(const ClusterView& view, const DeviceView& device,
                  RuleReport& report) {
  if (!device.gateway.IsUnset() || !device.planned_gateway) return true;
  for (const DeviceView& other : device.host->devices) {
    if (ShareGateway(view.profile(), other.id, device.id) &&
        !report.Knows(device, Worded("shared-gateway-of", other.id),
                      other.gateway)) {
      return false;
    }
  }
  return true;
}

// Why the detect address does not work for a device with the address `own`, and
// with a gateway or without, as a sentence.
Mistake WhyNoDetection(const ClusterView& view, Ipv4Address detect,
                       const Ipv4Interface& own, bool has_gateway) {
  if (detect.IsUnset()) return Worded("no-detect-address-set");
  Mistake why = WhyNoNeighbour(detect, own);
  if (detect != own.address()) {
    const Mistake unusable = WhyNotUsable(detect, view.profile());
    const bool inside = own.subnet().Contains(detect);
    if (!inside && has_gateway) why.reset();
    if (!inside && !has_gateway) why->set_words("is-outside-without-gateway");
    if (unusable) why = unusable;
  }
  if (why) why = Worded("detect-address-broken", detect.ToString(), *why);
  return why;
}

// REQUIRES: detection does not work, for the reason in `broken`.
void AddNoDetection(const ClusterView& view, const DeviceView& device,
                    const FindingValue& broken, RuleReport& report) {
  const auto does = [&](const Ipv4Interface& own, bool has_gateway) {
    return !WhyNoDetection(view, *device.detect_address, own, has_gateway);
  };
  const bool fits_plan = device.planned.has_value() &&
                         does(*device.planned, !device.gateway.IsUnset());
  // Through the planned gateway it can be reached from outside the subnet.
  const bool waits_for_gateway =
      device.planned_detect == *device.detect_address &&
      device.planned_gateway.has_value() && does(device.Address(), true) &&
      (!fits_plan || device.HasPlannedAddress());
  if (waits_for_gateway) {
    report.Add(device, "waits-for-gateway", broken,
               device.planned_gateway->ToString());
  } else if (device.detect_address.IsUnset() && !device.planned_detect) {
    AddWarning(broken, kDetectAddress, device, report);
  } else {
    AddFailure(broken, kDetectAddress, device, fits_plan, report);
  }
}

void JudgeDetectAddress(const ClusterView& view, const DeviceView& device,
                        RuleReport& report) {
  const Ipv4Interface own = device.Address();
  const Ipv4Address detect = *device.detect_address;
  const std::optional<Ipv4Address>& planned = device.planned_detect;
  const bool by_other = GatewayKeeper(view, device) != nullptr;
  const Mistake broken =
      WhyNoDetection(view, detect, own, by_other || !device.gateway.IsUnset());
  if (broken) return AddNoDetection(view, device, *broken, report);
  const bool is_inside = own.subnet().Contains(detect);
  if (is_inside && planned.value_or(detect) == detect) return;
  FindingValue observed = Worded("detect-address-is", detect.ToString());
  if (!is_inside) {
    const bool wanted =
        planned == detect && (by_other || device.gateway.IsSet());
    if (wanted ||
        !report.Knows(device, "gateway to a detect address outside the subnet",
                      device.gateway)) {
      return;
    }
    observed = Worded("detect-address-outside", detect.ToString(),
                      own.subnet().ToString());
  }
  AddWarning(observed, kDetectAddress, device, report);
}

// The limit of owners that a finding names.
constexpr size_t kMaxNamed = 8;
constexpr size_t kUsableHostParts = 254;
constexpr int kLastOctet = 24;

// One use of an address: by a device, as its gateway, or by a host.
struct Use {
  // Address, whether it is a gateway, order among all uses. Gateways of an
  // address last: their text is long and the same for many.
  uint64_t key;
  const DeviceView* device;  // Null for a host address.
  const ServerSpec* server;  // A host address's, or null.

  uint32_t address() const { return static_cast<uint32_t>(key >> 32); }
  bool is_gateway() const { return (key >> 31 & 1) != 0; }
  uint32_t order() const { return key & 0x7fffffff; }
  bool operator<(const Use& other) const { return key < other.key; }
};

std::vector<Use> AllUses(const ClusterView& view) {
  std::vector<Use> uses;
  uses.reserve(2 * view.devices().size() + view.spec().servers_size());
  const auto add = [&uses](Ipv4Address address, bool is_gateway,
                           const DeviceView* device, const ServerSpec* server) {
    const uint64_t turn = uint64_t{is_gateway} << 31 | uses.size();
    uses.push_back({uint64_t{address.bits()} << 32 | turn, device, server});
  };
  const auto add_device = [&add](const DeviceView& device) {
    for (const Ipv4Interface& interface : device.interfaces()) {
      add(interface.address(), false, &device, nullptr);
    }
    if (device.gateway.IsSet()) add(*device.gateway, true, &device, nullptr);
  };
  for (const HostView& host : view.hosts()) {
    absl::c_for_each(host.devices, add_device);
    absl::c_for_each(host.unplanned, add_device);
  }
  for (const ServerSpec& server : view.spec().servers()) {
    const auto address = Ipv4Address::Parse(server.address());
    if (address.ok()) add(*address, false, nullptr, &server);
  }
  return uses;
}

// A device that the spec leaves out still answers for its address.
bool IsUnplanned(const Use& use) {
  return use.device != nullptr &&
         use.device->host->Find(use.device->id) == nullptr;
}

FindingValue UseWords(const Use& use) {
  if (use.server != nullptr) return Worded("use-of-host", use.server->host());
  const FindingValue device =
      Worded(IsUnplanned(use) ? "use-of-unplanned-device" : "use-of-device",
             PrintableText(use.device->host->name), use.device->id);
  return use.is_gateway() ? Worded("use-as-gateway", device) : device;
}

// Devices whose live address is not the planned one should change.
FindingValue UniqueFix(absl::Span<const Use> uses) {
  std::string fix;
  size_t commands = 0;
  for (const Use& use : uses) {
    if (use.is_gateway() || use.device == nullptr ||
        !use.device->planned.has_value() ||
        use.device->planned->address().bits() == use.address()) {
      continue;
    }
    if (++commands > kMaxNamed) break;
    absl::StrAppend(&fix, fix.empty() ? "" : "; ",
                    PrintableText(use.device->host->name), ": ",
                    ToolCommand(use.device->id, SetPlanned(*use.device)));
  }
  return fix.empty() ? Worded("plan-other-addresses") : ToFindingValue(fix);
}

void AddConflict(absl::Span<const Use> uses, RuleReport& report) {
  std::vector<FindingValue> owners;
  std::vector<const DeviceView*> where;
  for (const Use& use : uses) {
    owners.push_back(UseWords(use));
    if (use.device != nullptr && !IsUnplanned(use)) where.push_back(use.device);
  }
  report.Add(where, "shared", Ipv4Address(uses.front().address()).ToString(),
             Listed(owners, kMaxNamed), UniqueFix(uses));
}

// An address of a subnet, and its device.
struct Member {
  uint32_t address;
  const DeviceView* device;
};

size_t DistinctAddresses(const std::vector<Member>& members) {
  absl::flat_hash_set<uint32_t> addresses;
  for (const Member& member : members) addresses.insert(member.address);
  return addresses.size();
}

// The number of addresses that the subnet has in the whole cluster, of which a
// job sees those of its own servers. With pairs every server has as many in it,
// even if the job takes one device of a pair.
size_t AddressesOf(const Ipv4Subnet& subnet, const ClusterView& view,
                   std::vector<Member> members) {
  const size_t servers = view.spec().cluster_servers();
  if (servers == 0 || subnet.prefix_length() >= kLastOctet ||
      view.profile().subnet_plan != SubnetPlan::kPairs) {
    return DistinctAddresses(members);
  }
  std::set<const HostView*> hosts;
  for (const Member& member : members) hosts.insert(member.device->host);
  for (const HostView* host : hosts) {
    for (const DeviceView& device : host->unplanned) {
      for (const Ipv4Interface& interface : device.interfaces()) {
        if (interface.subnet() == subnet) {
          members.push_back({interface.address().bits(), &device});
        }
      }
    }
  }
  const size_t seen = DistinctAddresses(members);
  return std::max(seen, seen * servers / hosts.size());
}

void AddEndings(const Ipv4Subnet& subnet, const std::vector<Member>& members,
                RuleReport& report) {
  std::map<uint32_t, std::vector<Member>> by_octet;
  for (const Member& member : members) {
    by_octet[member.address & 0xff].push_back(member);
  }
  for (const auto& [octet, alike] : by_octet) {
    if (DistinctAddresses(alike) < 2) continue;  // Equal ones are ip-unique's.
    const auto where = Each<const DeviceView*>(alike, &Member::device);
    const auto addresses = Each<std::string>(alike, [](const Member& member) {
      return Ipv4Address(member.address).ToString();
    });
    report.Add(where, "alike", Listed(addresses, kMaxNamed), subnet.ToString(),
               octet);
  }
}

}  // namespace

void CheckDeviceIpSet(const ClusterView& view, RuleReport& report) {
  const HostView* host = nullptr;
  size_t never_set = 0;  // The host's.
  report.ForEachKnown(
      "address", &DeviceView::addresses, [&](const DeviceView& device) {
        if (device.host != host) {
          host = device.host;
          never_set = ValuesNeverSet(view.spec(), *host);
        }
        const std::string& ipv6 = device.facts->ipv6_address().value();
        if (!device.HasAddress() && !ipv6.empty()) {
          return report.Add(device, "ipv6-only", PrintableText(ipv6));
        }
        report.Judged(device);
        if (device.HasAddress()) return;
        if (never_set > 0) {
          report.Add(device,
                     host->facts->hccn_conf().has_value()
                         ? "never-configured"
                         : "never-configured-without-file",
                     never_set);
        } else if (device.planned.has_value()) {
          report.Add(device, "none-as-planned", device.planned->ToString(),
                     SetPlanned(device));
        } else {
          report.Add(device, "none");
        }
      });
}

// Does not judge devices without a planned address.
void CheckDeviceIpPlanned(const ClusterView& view, RuleReport& report) {
  report.ForEachAddress([&](const DeviceView& device) {
    if (!device.planned.has_value()) return;
    report.Judged(device);
    if (device.HasPlannedAddress()) return;
    const auto live =
        Each<std::string>(device.interfaces(), &Ipv4Interface::ToString);
    report.Add(device, "another", absl::StrJoin(live, ", "),
               device.planned->ToString(), SetPlanned(device));
  });
  for (const ServerSpec& server : view.spec().servers()) {
    for (const DeviceSpec& device : server.devices()) {
      if (!device.address().empty()) return;
    }
  }
  report.SkipFor("no-addresses-planned");
}

void CheckDeviceIpAllowed(const ClusterView& view, RuleReport& report) {
  report.ForEachAddress([&](const DeviceView& device) {
    report.Judged(device);
    for (const Ipv4Interface& interface : device.interfaces()) {
      const Mistake why = WhyNotAllowed(interface, view.profile());
      if (!why) continue;
      if (device.planned.value_or(interface) != interface) {
        report.Add(device, "live", interface.ToString(), *why,
                   device.planned->ToString(), SetPlanned(device));
      } else {
        report.Add(device, "planned", interface.ToString(), *why);
      }
    }
  });
}

// | gateway is                               | state |
// |------------------------------------------|-------|
// | own, network or broadcast address        | fail  |
// | outside the device's subnet              | fail  |
// | not set, and the spec names one          | warn  |
// | in the subnet, and the spec names another| warn  |
// | set on some alone, and the spec names none| warn  |
// | that of a device that shares it, or none | pass  |
void CheckGateway(const ClusterView& view, RuleReport& report) {
  std::vector<const DeviceView*> with, without;  // None is planned.
  report.ForEachAddress([&](const DeviceView& device) {
    if (!report.Knows(device, "gateway", device.gateway)) return;
    const bool by_other =
        GatewayKeeper(view, device) != nullptr || WaitsForAnother(view, device);
    if (!by_other && !KnowsSharing(view, device, report)) return;
    report.Judged(device);
    if (by_other) return;
    JudgeGateway(device, report);
    if (device.planned_gateway) return;
    const bool has_one = !device.gateway.IsUnset();
    if (!has_one || !WhyNoNeighbour(*device.gateway, device.Address())) {
      (has_one ? with : without).push_back(&device);
    }
  });
  for (const auto* some : {&with, &without}) {
    const size_t others = with.size() + without.size() - some->size();
    if (others < some->size()) continue;
    for (const DeviceView* device : *some) {
      report.Add(*device, some == &with ? "few-with" : "few-without",
                 device->gateway->ToString(), Counted(others, "device"));
    }
  }
}

// | detect address is                              | state |
// |------------------------------------------------|-------|
// | not set, and the spec names none               | warn  |
// | not set, own, in an unusable range             | fail  |
// | the subnet's network or broadcast address      | fail  |
// | outside the subnet, no gateway is set          | fail  |
// | outside the subnet, a gateway is set           | warn  |
// | in the subnet, and the spec names another      | warn  |
// A planned address outside the subnet passes with a gateway.
void CheckDetectAddress(const ClusterView& view, RuleReport& report) {
  report.ForEachAddress([&](const DeviceView& device) {
    if (!report.Knows(device, "detect address", device.detect_address)) return;
    report.Judged(device);
    JudgeDetectAddress(view, device, report);
  });
}

// Compares live device addresses, live gateways and the host addresses of the
// spec (also of hosts that did not answer). Addresses of unplanned devices
// count if a planned one or a host has them, too. Devices that share a gateway
// are not a conflict; a gateway that is a device's or a host's address is.
void CheckIpUnique(const ClusterView& view, RuleReport& report) {
  report.ForEachAddress([&](const DeviceView& device) {
    if (report.Knows(device, "gateway", device.gateway)) report.Judged(device);
  });
  std::vector<Use> uses = AllUses(view);
  absl::c_sort(uses);
  std::map<uint32_t, absl::Span<const Use>> conflicts;  // By their first use.
  for (size_t begin = 0, end = 0; begin < uses.size(); begin = end) {
    uint32_t first = uses[begin].order();
    for (; end < uses.size() && uses[end].address() == uses[begin].address();
         ++end) {
      first = std::min(first, uses[end].order());
    }
    // If a gateway comes first, the address has no owner.
    if (end - begin == 1 || uses[begin].is_gateway()) continue;
    const auto owners = absl::MakeConstSpan(uses).subspan(begin, end - begin);
    if (!absl::c_all_of(owners, IsUnplanned)) conflicts[first] = owners;
  }
  for (const auto& [order, owners] : conflicts) AddConflict(owners, report);
}

// Judges profiles that require it, and subnets that 8 bits can number: a larger
// one cannot obey it.
void CheckIpHostPart(const ClusterView& view, RuleReport& report) {
  if (!view.profile().host_part_must_differ) {
    return report.SkipFor("no-such-rule", Term(view.profile().title));
  }
  FirstSeen<Ipv4Subnet, std::vector<Member>> subnets;
  report.ForEachAddress([&](const DeviceView& device) {
    for (const Ipv4Interface& interface : device.interfaces()) {
      subnets[interface.subnet()].push_back(
          {interface.address().bits(), &device});
    }
  });
  std::vector<std::string> too_large;
  std::set<const DeviceView*> judged;
  for (const auto& [subnet, members] : subnets) {
    if (AddressesOf(subnet, view, members) > kUsableHostParts) {
      too_large.push_back(subnet.ToString());
      continue;
    }
    for (const Member& member : members) judged.insert(member.device);
    // Addresses in /24 and narrower end alike only if they are equal.
    if (subnet.prefix_length() < kLastOctet) {
      AddEndings(subnet, members, report);
    }
  }
  for (const DeviceView* device : judged) report.Judged(*device);
  if (too_large.empty()) return;
  const FindingValue subnets_listed = Listed(too_large, kMaxNamed);
  report.Note("too-many-to-differ", kUsableHostParts, subnets_listed);
  report.SkipFor("too-many-to-differ", kUsableHostParts, subnets_listed);
}

}  // namespace clusterd
