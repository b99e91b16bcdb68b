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

// "is the network address of 192.168.100.0/24"; empty if it is neither that
// nor the broadcast address. A subnet of 31 or 32 bits has none of the two.
std::string EdgeText(Ipv4Address address, const Ipv4Subnet& subnet) {
  const bool is_network = address == subnet.network();
  const bool is_edge = is_network || address == subnet.broadcast();
  if (!is_edge || subnet.prefix_length() >= 31) return "";
  return absl::StrCat("is the ", is_network ? "network" : "broadcast",
                      " address of ", subnet.ToString());
}

// Why the address is not another host of the subnet; empty if it is.
std::string WhyNoNeighbour(Ipv4Address address, const Ipv4Interface& own) {
  if (address == own.address()) return "is the device's own address";
  if (own.subnet().Contains(address)) return EdgeText(address, own.subnet());
  return absl::StrCat("is outside the device's subnet ",
                      own.subnet().ToString());
}

// What is wrong with using the address at all on this product, e.g. "lies in
// 192.168.1.0/24: …"; empty if nothing is.
std::string WhyNotUsable(Ipv4Address address, const ProductProfile& profile) {
  if (address.IsLoopback()) return "is a loopback address";
  if (address.IsMulticast()) return "is a multicast address";
  if (address.IsClassE()) return "is a class E address";
  for (const ReservedSubnet& reserved : profile.reserved) {
    if (reserved.subnet.Contains(address)) {
      return absl::StrCat("lies in ", reserved.subnet.ToString(), ": ",
                          reserved.why);
    }
  }
  return "";
}

std::string WhyNotAllowed(const Ipv4Interface& interface,
                          const ProductProfile& profile) {
  if (interface.prefix_length() == 0) return "has netmask 0.0.0.0";
  const std::string why = WhyNotUsable(interface.address(), profile);
  return why.empty() ? EdgeText(interface.address(), interface.subnet()) : why;
}

// What is set is not what it should be: the planned one is.
NamedFinding UnlikePlan(absl::string_view observed, const AddressKind& kind,
                        const DeviceView& device, const RuleReport& report) {
  const std::optional<Ipv4Address>& planned = device.*kind.planned;
  return planned.has_value()
             ? report.Named("not-as-planned", observed, kind.command,
                            planned->ToString())
             : report.Named("not-planned", observed, kind.command, kind.name,
                            device.Address().subnet().ToString());
}

void AddWarning(absl::string_view observed, const AddressKind& kind,
                const DeviceView& device, RuleReport& report) {
  NamedFinding text = UnlikePlan(observed, kind, device, report);
  text.state = WARN;
  report.Add(device, std::move(text));
}

// `fits_plan`: beside the device's planned address it would do.
void AddFailure(absl::string_view observed, const AddressKind& kind,
                const DeviceView& device, bool fits_plan, RuleReport& report) {
  const Ipv4Address live = *(device.*kind.live);
  if (live.IsUnset() || device.*kind.planned != live) {
    report.Add(device, UnlikePlan(observed, kind, device, report));
  } else if (fits_plan && !device.HasPlannedAddress()) {
    report.Add(device, "suits-planned-address", observed, kind.name,
               live.ToString(), device.planned->ToString());
  } else {
    report.Add(device, "does-not-suit", observed, kind.command, kind.name);
  }
}

void JudgeGateway(const DeviceView& device, RuleReport& report) {
  const Ipv4Address gateway = *device.gateway;
  if (gateway.IsUnset()) {
    if (!device.planned_gateway.has_value()) return;
    return AddWarning("no gateway is set", kGateway, device, report);
  }
  const std::string broken = WhyNoNeighbour(gateway, device.Address());
  if (!broken.empty()) {
    const bool fits_plan = device.planned.has_value() &&
                           WhyNoNeighbour(gateway, *device.planned).empty();
    AddFailure(absl::StrCat("gateway ", gateway.ToString(), " ", broken),
               kGateway, device, fits_plan, report);
  } else if (device.planned_gateway.value_or(gateway) != gateway) {
    AddWarning(absl::StrCat("gateway is ", gateway.ToString()), kGateway,
               device, report);
  }
}

// Whether a lower device is told to get the gateway for both.
bool WaitsForAnother(const ClusterView& view, const DeviceView& device) {
  const auto& devices = device.host->devices;
  return device.gateway.IsUnset() &&
         absl::c_any_of(devices, [&](const DeviceView& other) {
           return other.id < device.id && other.HasAddress() &&
                  ShareGateway(view.profile(), other.id, device.id) &&
                  other.planned_gateway && other.gateway.IsUnset();
         });
}

// False, with the finding added, where another device may have the gateway for
// both, and whether it does is not known.
bool KnowsSharing(const ClusterView& view, const DeviceView& device,
                  RuleReport& report) {
  if (!device.gateway.IsUnset() || !device.planned_gateway) return true;
  for (const DeviceView& other : device.host->devices) {
    const std::string what =
        absl::StrCat("gateway of device ", other.id, ", which may serve both");
    if (ShareGateway(view.profile(), other.id, device.id) &&
        !report.Knows(device, what, other.gateway)) {
      return false;
    }
  }
  return true;
}

// Why the detect address cannot tell anything to a device with the address
// `own`, and with a gateway or without; empty if it can.
std::string WhyNoDetection(const ClusterView& view, Ipv4Address detect,
                           const Ipv4Interface& own, bool has_gateway) {
  if (detect.IsUnset()) return "no detect address is set (0.0.0.0)";
  std::string why = WhyNoNeighbour(detect, own);
  if (detect != own.address()) {
    const std::string unusable = WhyNotUsable(detect, view.profile());
    const bool inside = own.subnet().Contains(detect);
    if (!inside) why = has_gateway ? "" : why + ", and no gateway is set";
    if (!unusable.empty()) why = unusable;
  }
  return why.empty()
             ? ""
             : absl::StrCat("detect address ", detect.ToString(), " ", why);
}

// REQUIRES: it cannot tell anything, which `broken` says.
void AddNoDetection(const ClusterView& view, const DeviceView& device,
                    const std::string& broken, RuleReport& report) {
  const auto does = [&](const Ipv4Interface& own, bool has_gateway) {
    return WhyNoDetection(view, *device.detect_address, own, has_gateway)
        .empty();
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
  const std::string broken =
      WhyNoDetection(view, detect, own, by_other || !device.gateway.IsUnset());
  if (!broken.empty()) return AddNoDetection(view, device, broken, report);
  const bool is_inside = own.subnet().Contains(detect);
  if (is_inside && planned.value_or(detect) == detect) return;
  std::string observed = absl::StrCat("detect address is ", detect.ToString());
  if (!is_inside) {
    const bool wanted =
        planned == detect && (by_other || device.gateway.IsSet());
    if (wanted ||
        !report.Knows(device,
                      "gateway to the detect address outside the subnet",
                      device.gateway)) {
      return;
    }
    absl::StrAppend(&observed, ", outside the device's subnet ",
                    own.subnet().ToString(),
                    ": a probe then tests the gateway as well");
  }
  AddWarning(observed, kDetectAddress, device, report);
}

// Owners that a finding names one by one.
constexpr size_t kMaxNamed = 8;
constexpr size_t kUsableHostParts = 254;
constexpr int kLastOctet = 24;

// One use of an address: by a device, as its gateway, or by a host.
struct Use {
  // Address, whether it is a gateway, order among all uses. Gateways of an
  // address last: their text is long and the same for many.
  uint64_t key;
  const DeviceView* device;  // Null for a host address.
  const ServerSpec* server;  // Of a host address; else null.

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

// A device that the spec leaves out answers for its address all the same.
bool IsUnplanned(const Use& use) {
  return use.device != nullptr &&
         use.device->host->Find(use.device->id) == nullptr;
}

std::string UseText(const Use& use) {
  if (use.server != nullptr) return absl::StrCat(use.server->host(), " itself");
  return absl::StrCat(use.is_gateway() ? "gateway of " : "",
                      PrintableText(use.device->host->name), " device ",
                      use.device->id,
                      IsUnplanned(use) ? ", which is not planned" : "");
}

// Devices whose live address is not the planned one are the ones to change.
std::string UniqueFix(absl::Span<const Use> uses) {
  std::string fix;
  size_t commands = 0;
  for (const Use& use : uses) {
    if (use.is_gateway() || use.device == nullptr ||
        !use.device->planned.has_value() ||
        use.device->planned->address().bits() == use.address()) {
      continue;
    }
    if (++commands > kMaxNamed) break;
    absl::StrAppend(&fix, fix.empty() ? "" : "; ", "on ",
                    PrintableText(use.device->host->name), ": ",
                    ToolCommand(use.device->id, SetPlanned(*use.device)));
  }
  if (!fix.empty()) return fix;
  return "give all but one of them another address in cluster.yaml and set it";
}

void AddConflict(absl::Span<const Use> uses, RuleReport& report) {
  std::vector<std::string> owners;
  std::vector<const DeviceView*> where;
  for (const Use& use : uses) {
    owners.push_back(UseText(use));
    if (use.device != nullptr && !IsUnplanned(use)) where.push_back(use.device);
  }
  report.Add(where, "shared", Ipv4Address(uses.front().address()).ToString(),
             FirstOf(owners, kMaxNamed), UniqueFix(uses));
}

// An address of a subnet, and whose it is.
struct Member {
  uint32_t address;
  const DeviceView* device;
};

size_t DistinctAddresses(const std::vector<Member>& members) {
  absl::flat_hash_set<uint32_t> addresses;
  for (const Member& member : members) addresses.insert(member.address);
  return addresses.size();
}

// How many addresses the subnet has in the whole cluster, of which a job sees
// those of its own servers: with pairs every server has as many in it, also
// where the job takes one device of a pair.
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
    std::string list;
    std::vector<const DeviceView*> where;
    for (const Member& member : alike) {
      if (where.size() < kMaxNamed) {
        absl::StrAppend(&list, list.empty() ? "" : ", ",
                        Ipv4Address(member.address).ToString());
      }
      where.push_back(member.device);
    }
    if (where.size() > kMaxNamed) absl::StrAppend(&list, ", …");
    report.Add(where, "alike", list, subnet.ToString(), octet);
  }
}

}  // namespace

void CheckDeviceIpSet(const ClusterView&, RuleReport& report) {
  report.ForEachKnown(
      "address", &DeviceView::addresses, [&](const DeviceView& device) {
        const std::string& ipv6 = device.facts->ipv6_address().value();
        if (!device.HasAddress() && !ipv6.empty()) {
          return report.Add(device, "ipv6-only", PrintableText(ipv6));
        }
        report.Judged(device);
        if (device.HasAddress()) return;
        if (device.planned.has_value()) {
          report.Add(device, "none-as-planned", device.planned->ToString(),
                     SetPlanned(device));
        } else {
          report.Add(device, "none");
        }
      });
}

// Devices that the spec plans no address for are not judged.
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
  report.ExplainSkip("the spec plans no addresses");
}

void CheckDeviceIpAllowed(const ClusterView& view, RuleReport& report) {
  report.ForEachAddress([&](const DeviceView& device) {
    report.Judged(device);
    for (const Ipv4Interface& interface : device.interfaces()) {
      const std::string why = WhyNotAllowed(interface, view.profile());
      if (why.empty()) continue;
      if (device.planned.value_or(interface) != interface) {
        report.Add(device, "live", interface.ToString(), why,
                   device.planned->ToString(), SetPlanned(device));
      } else {
        report.Add(device, "planned", interface.ToString(), why);
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
  std::vector<const DeviceView*> with, without;  // Where none is planned.
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
    if (!has_one || WhyNoNeighbour(*device.gateway, device.Address()).empty()) {
      (has_one ? with : without).push_back(&device);
    }
  });
  const bool few_have = with.size() < without.size();
  const size_t others = (few_have ? without : with).size();
  for (const DeviceView* device : few_have ? with : without) {
    report.Add(*device, few_have ? "few-have" : "few-lack",
               device->gateway->ToString(), Count(others, "device"));
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
// Outside the subnet and the planned one is what the spec wants: it passes with
// a gateway.
void CheckDetectAddress(const ClusterView& view, RuleReport& report) {
  report.ForEachAddress([&](const DeviceView& device) {
    if (!report.Knows(device, "detect address", device.detect_address)) return;
    report.Judged(device);
    JudgeDetectAddress(view, device, report);
  });
}

// Among live device addresses, live gateways and the host addresses of the
// spec (also of hosts that did not answer). What unplanned devices have counts
// where a planned one or a host has it, too. Devices that share a gateway are
// no conflict; a gateway that is a device's or a host's address is.
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
    // Where a gateway comes first, nobody owns the address.
    if (end - begin == 1 || uses[begin].is_gateway()) continue;
    const auto owners = absl::MakeConstSpan(uses).subspan(begin, end - begin);
    if (!absl::c_all_of(owners, IsUnplanned)) conflicts[first] = owners;
  }
  for (const auto& [order, owners] : conflicts) AddConflict(owners, report);
}

// Where the profile asks for it, and in subnets that 8 bits can tell apart: a
// larger one cannot obey it.
void CheckIpHostPart(const ClusterView& view, RuleReport& report) {
  if (!view.profile().host_part_must_differ) {
    return report.ExplainSkip(view.profile().title, " has no such rule");
  }
  FirstMet<Ipv4Subnet, std::vector<Member>> subnets;
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
    // In /24 and narrower only equal addresses end alike.
    if (subnet.prefix_length() < kLastOctet) {
      AddEndings(subnet, members, report);
    }
  }
  for (const DeviceView* device : judged) report.Judged(*device);
  if (too_large.empty()) return;
  const std::string why =
      absl::StrCat("more than ", kUsableHostParts, " addresses in ",
                   FirstOf(too_large, kMaxNamed),
                   ", which cannot all differ in their last 8 bits");
  report.AddNote(why);
  report.ExplainSkip(why);
}

}  // namespace clusterd
