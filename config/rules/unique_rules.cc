// Addresses that must differ: as a whole, and in their last 8 bits.
#include <algorithm>
#include <map>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "config/rules/cluster_view.h"
#include "config/rules/rule_report.h"

namespace clusterd {
namespace {

// Owners that a finding names one by one.
constexpr size_t kMaxNamed = 8;
constexpr size_t kUsableHostParts = 254;
constexpr int kLastOctet = 24;

// One use of an address.
struct Use {
  enum Kind : uint8_t { kDevice, kGateway, kHost };
  uint32_t address;
  Kind kind;
  const DeviceView* device;  // Null for a host address.
  const ServerSpec* server;  // Of a host address; else null.
};

// What is known of one address before its owners are collected.
struct Tally {
  uint32_t devices = 0;
  uint32_t hosts = 0;
  bool gateway = false;

  bool IsConflict() const {
    return devices + hosts > 1 || (gateway && devices + hosts > 0);
  }
};

template <typename Visit>
void ForEachUse(const ClusterView& view, Visit visit) {
  for (const HostView& host : view.hosts()) {
    for (const DeviceView& device : host.devices) {
      for (const Ipv4Interface& interface : device.interfaces()) {
        visit(Use{interface.address().bits(), Use::kDevice, &device, nullptr});
      }
      if (device.gateway.IsSet()) {
        visit(Use{device.gateway->bits(), Use::kGateway, &device, nullptr});
      }
    }
  }
  for (const ServerSpec& server : view.spec().servers()) {
    const absl::StatusOr<Ipv4Address> address =
        Ipv4Address::Parse(server.address());
    if (!address.ok()) continue;
    visit(Use{address->bits(), Use::kHost, nullptr, &server});
  }
}

std::string UseText(const Use& use) {
  if (use.server != nullptr) return absl::StrCat(use.server->host(), " itself");
  return absl::StrCat(use.kind == Use::kGateway ? "gateway of " : "",
                      PrintableText(use.device->host->name), " device ",
                      use.device->id);
}

// Devices whose live address is not the planned one are the ones to change.
std::string UniqueFix(const std::vector<Use>& uses) {
  std::string fix;
  size_t commands = 0;
  for (const Use& use : uses) {
    if (use.kind != Use::kDevice || !use.device->planned.has_value() ||
        use.device->planned->address().bits() == use.address) {
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

void AddConflict(std::vector<Use>* uses, RuleReport& report) {
  // Devices first: a gateway's text is long and the same for many.
  std::stable_sort(uses->begin(), uses->end(), [](const Use& a, const Use& b) {
    return (a.kind == Use::kGateway) < (b.kind == Use::kGateway);
  });
  std::string owners;
  std::vector<const DeviceView*> where;
  for (size_t i = 0; i < uses->size(); ++i) {
    const Use& use = (*uses)[i];
    if (i < kMaxNamed) {
      absl::StrAppend(&owners, i == 0 ? "" : ", ", UseText(use));
    }
    if (use.device != nullptr) where.push_back(use.device);
  }
  if (uses->size() > kMaxNamed) {
    absl::StrAppend(&owners, " and ", uses->size() - kMaxNamed, " more");
  }
  const std::string address = Ipv4Address(uses->front().address).ToString();
  FindingText text = FindingText(FAIL, address, " belongs to ", owners)
                         .Expected("one owner per address")
                         .Fix(UniqueFix(*uses));
  if (where.empty()) {
    report.Add(std::move(text));
  } else {
    report.Add(where, std::move(text));
  }
}

// An address of a subnet, and whose it is.
struct Member {
  uint32_t address;
  const DeviceView* device;
};

size_t DistinctAddresses(const std::vector<Member>& members) {
  std::vector<uint32_t> addresses;
  addresses.reserve(members.size());
  for (const Member& member : members) addresses.push_back(member.address);
  std::sort(addresses.begin(), addresses.end());
  return std::unique(addresses.begin(), addresses.end()) - addresses.begin();
}

void AddEndings(const Ipv4Subnet& subnet, const std::vector<Member>& members,
                State state, RuleReport& report) {
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
    report.Add(where,
               FindingText(state, list, " in ", subnet.ToString(),
                           " all end in ", octet)
                   .Expected("different last numbers in ", subnet.ToString())
                   .Fix("plan addresses that differ in the last number in "
                        "cluster.yaml, then set them"));
  }
}

}  // namespace

// Among live device addresses, live gateways and the host addresses of the
// spec (also of hosts that did not answer). Devices that share a gateway are no
// conflict; a gateway that is a device's or a host's address is.
void CheckIpUnique(const ClusterView& view, RuleReport& report) {
  report.ForEachAddress([&](const DeviceView& device) {
    if (report.Knows(device, "gateway", device.gateway)) {
      report.Judged(device);
    }
  });
  absl::flat_hash_map<uint32_t, Tally> tally;
  tally.reserve(view.expected_devices() + view.spec().servers_size());
  bool any_conflict = false;
  ForEachUse(view, [&](const Use& use) {
    Tally& entry = tally[use.address];
    entry.devices += use.kind == Use::kDevice ? 1 : 0;
    entry.hosts += use.kind == Use::kHost ? 1 : 0;
    entry.gateway = entry.gateway || use.kind == Use::kGateway;
    any_conflict = any_conflict || entry.IsConflict();
  });
  if (!any_conflict) return;
  absl::flat_hash_map<uint32_t, size_t> place;
  std::vector<std::vector<Use>> conflicts;  // In the order of first owners.
  ForEachUse(view, [&](const Use& use) {
    if (!tally[use.address].IsConflict()) return;
    const auto [slot, is_new] =
        place.try_emplace(use.address, conflicts.size());
    if (is_new) conflicts.emplace_back();
    conflicts[slot->second].push_back(use);
  });
  for (std::vector<Use>& uses : conflicts) AddConflict(&uses, report);
}

// Fails where the profile asks for different host parts, else warns; a subnet
// with more addresses than 8 bits can tell apart (254) is one warning, since no
// plan of one subnet could do better.
void CheckIpHostPart(const ClusterView& view, RuleReport& report) {
  absl::flat_hash_map<Ipv4Subnet, size_t> place;
  std::vector<std::pair<Ipv4Subnet, std::vector<Member>>> subnets;
  report.ForEachAddress([&](const DeviceView& device) {
    report.Judged(device);
    for (const Ipv4Interface& interface : device.interfaces()) {
      // In /24 and narrower only equal addresses end alike.
      if (interface.prefix_length() >= kLastOctet) continue;
      const auto [slot, is_new] =
          place.try_emplace(interface.subnet(), subnets.size());
      if (is_new) {
        subnets.emplace_back(interface.subnet(), std::vector<Member>());
      }
      subnets[slot->second].second.push_back(
          {interface.address().bits(), &device});
    }
  });
  const State state = view.profile().host_part_must_differ ? FAIL : WARN;
  for (const auto& [subnet, members] : subnets) {
    const size_t addresses = DistinctAddresses(members);
    if (addresses <= kUsableHostParts) {
      AddEndings(subnet, members, state, report);
      continue;
    }
    report.Add(
        FindingText(WARN, addresses, " addresses in ", subnet.ToString(),
                    " cannot all differ in the last 8 bits")
            .Expected("at most ", kUsableHostParts, " addresses in one subnet")
            .Fix("plan more and smaller subnets with gateways between them, if "
                 "the product allows it"));
  }
}

}  // namespace clusterd
