// Addresses that must differ: as a whole, and in their last 8 bits.
#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "config/rules/rule_report.h"
#include "config/rules/view/cluster_view.h"
#include "config/words/subject_text.h"

namespace clusterd {
namespace {

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
    const absl::StatusOr<Ipv4Address> address =
        Ipv4Address::Parse(server.address());
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

// Among live device addresses, live gateways and the host addresses of the
// spec (also of hosts that did not answer). What unplanned devices have counts
// where a planned one or a host has it, too. Devices that share a gateway are
// no conflict; a gateway that is a device's or a host's address is.
void CheckIpUnique(const ClusterView& view, RuleReport& report) {
  report.ForEachAddress([&](const DeviceView& device) {
    if (report.Knows(device, "gateway", device.gateway)) {
      report.Judged(device);
    }
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
    report.ExplainSkip(view.profile().title, " has no such rule");
    return;
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
