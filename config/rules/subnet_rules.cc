// How device addresses spread over subnets, as the product's profile demands.
// Subnets are those of the live addresses, from address and netmask both.
#include <map>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "config/rules/ballot.h"
#include "config/rules/cluster_view.h"
#include "config/rules/rule_report.h"

namespace clusterd {
namespace {

// Atlas training series: two groups of four devices.
constexpr uint32_t kGroupSize = 4;

// False, with the reason told, where the product does not ask for the plan.
bool Applies(const ClusterView& view, SubnetPlan plan, RuleReport& report) {
  if (view.profile().subnet_plan == plan) return true;
  report.ExplainSkip(view.profile().title, " has no such rule");
  return false;
}

// Commands that bring the devices to the plan; words where they are there.
std::string PlanFix(const std::vector<const DeviceView*>& devices) {
  std::vector<std::string> commands;
  for (const DeviceView* device : devices) {
    if (!device->planned.has_value() || device->HasPlannedAddress()) continue;
    commands.push_back(ToolCommand(device->id, SetPlanned(*device)));
  }
  if (commands.empty()) {
    return "correct the addresses in cluster.yaml, then set them";
  }
  return absl::StrJoin(commands, " && ");
}

std::string AddressesText(const std::vector<const DeviceView*>& devices) {
  return absl::StrJoin(devices, ", ",
                       [](std::string* out, const DeviceView* device) {
                         absl::StrAppend(out, "device ", device->id, " has ",
                                         device->Address().ToString());
                       });
}

// Devices with an address by id, as ForEachAddress meets them: all of a host,
// then the next host.
template <typename Judge>
void ForEachHostsAddresses(RuleReport& report, Judge judge) {
  std::vector<const DeviceView*> devices;
  report.ForEachAddress([&](const DeviceView& device) {
    if (!devices.empty() && devices.back()->host != device.host) {
      judge(devices);
      devices.clear();
    }
    devices.push_back(&device);
  });
  if (!devices.empty()) judge(devices);
}

const DeviceView* FindIn(const std::vector<const DeviceView*>& devices,
                         uint32_t id) {
  const auto found = absl::c_find_if(
      devices, [id](const DeviceView* device) { return device->id == id; });
  return found == devices.end() ? nullptr : *found;
}

// Those whose subnet another one's overlaps.
std::vector<const DeviceView*> Sharing(
    const std::vector<const DeviceView*>& devices) {
  std::vector<const DeviceView*> sharing;
  absl::c_copy_if(
      devices, std::back_inserter(sharing), [&](const DeviceView* device) {
        const Ipv4Subnet subnet = device->Address().subnet();
        return absl::c_any_of(devices, [&](const DeviceView* other) {
          return other != device && subnet.Overlaps(other->Address().subnet());
        });
      });
  return sharing;
}

// Of subnets: how many devices lie in one, and how many are planned there.
using SubnetBallot = Ballot<Ipv4Subnet>;

void Vote(const DeviceView& device, SubnetBallot* ballot) {
  ++(*ballot)[device.Address().subnet()].live;
  // A plan counts only for subnets that are in use.
  if (!device.planned.has_value()) return;
  ++(*ballot)[device.planned->subnet()].planned;
}

bool HasRoute(const DeviceView& device) {
  return device.gateway.IsSet() &&
         device.Address().subnet().Contains(*device.gateway) &&
         *device.gateway != device.Address().address();
}

// The devices in `common`, or outside it, that no gateway takes to the others.
void AddUnrouted(const std::vector<const DeviceView*>& devices,
                 const Ipv4Subnet& common, bool inside, RuleReport& report) {
  for (const DeviceView* device : devices) {
    const Ipv4Subnet own = device->Address().subnet();
    if ((own == common) != inside || HasRoute(*device)) continue;
    if (!report.Knows(*device,
                      absl::StrCat("gateway from ", own.ToString(),
                                   " to the other subnets"),
                      device->gateway)) {
      continue;
    }
    const bool is_misplaced =
        device->planned.has_value() && !device->HasPlannedAddress();
    report.Add(
        *device, inside ? "inside" : "outside", device->Address().ToString(),
        own.ToString(), common.ToString(),
        is_misplaced ? SetPlanned(*device) : SetPlanned(kGateway, *device));
  }
}

}  // namespace

// Devices i and i+4 of one host; profile kPairs only.
void CheckSubnetPairs(const ClusterView& view, RuleReport& report) {
  if (!Applies(view, SubnetPlan::kPairs, report)) return;
  ForEachHostsAddresses(report, [&](const auto& devices) {
    for (uint32_t id = 0; id < kGroupSize; ++id) {
      const DeviceView* first = FindIn(devices, id);
      const DeviceView* second = FindIn(devices, id + kGroupSize);
      if (first == nullptr || second == nullptr) continue;
      report.Judged(*first);
      report.Judged(*second);
      if (first->Address().subnet() == second->Address().subnet()) continue;
      const std::vector<const DeviceView*> pair = {first, second};
      report.Add(pair, "apart", AddressesText(pair), id, id + kGroupSize,
                 PlanFix(pair));
    }
  });
}

// Devices 0-3, and 4-7, of one host: equal or overlapping subnets fail; profile
// kPairs only.
void CheckSubnetDistinct(const ClusterView& view, RuleReport& report) {
  if (!Applies(view, SubnetPlan::kPairs, report)) return;
  ForEachHostsAddresses(report, [&](const auto& devices) {
    for (const uint32_t base : {uint32_t{0}, kGroupSize}) {
      std::vector<const DeviceView*> group;
      for (uint32_t id = base; id < base + kGroupSize; ++id) {
        const DeviceView* device = FindIn(devices, id);
        if (device != nullptr) group.push_back(device);
      }
      if (group.size() < 2) continue;
      for (const DeviceView* device : group) report.Judged(*device);
      const std::vector<const DeviceView*> sharing = Sharing(group);
      if (sharing.empty()) continue;
      report.Add(sharing, "together", AddressesText(sharing), base,
                 base + kGroupSize - 1, PlanFix(sharing));
    }
  });
}

// Device i of all hosts; profile kPairs only. The subnet of most hosts is taken
// as right, of equals the planned one. Skipped with fewer than two hosts.
void CheckSubnetAcrossHosts(const ClusterView& view, RuleReport& report) {
  if (!Applies(view, SubnetPlan::kPairs, report)) return;
  if (view.hosts().size() < 2) {
    report.ExplainSkip("fewer than two hosts answered");
    return;
  }
  std::map<uint32_t, std::vector<const DeviceView*>> rails;
  report.ForEachAddress(
      [&](const DeviceView& device) { rails[device.id].push_back(&device); });
  for (const DeviceView& device : view.devices()) {
    // A device alone on its rail has nothing to agree with.
    const bool compared = device.HasAddress() && rails[device.id].size() > 1;
    if (compared) report.Judged(device);
  }
  for (const auto& [id, devices] : rails) {
    SubnetBallot ballot;
    for (const DeviceView* device : devices) Vote(*device, &ballot);
    const Ipv4Subnet right = MostCommon(ballot);
    for (const DeviceView* device : devices) {
      const Ipv4Interface own = device->Address();
      if (own.subnet() == right) continue;
      const bool is_planned =
          device->planned.has_value() && device->planned->subnet() == right;
      report.Add(*device, "another", own.ToString(), own.subnet().ToString(),
                 right.ToString(), Count(ballot[right].live, "other host"),
                 is_planned ? SetPlanned(*device) : "");
    }
  }
}

// All devices of the cluster; profile kShared only. With several subnets, those
// outside the most common one need a gateway inside their own; if all of them
// have one, so do the others, for the way back.
void CheckSubnetShared(const ClusterView& view, RuleReport& report) {
  if (!Applies(view, SubnetPlan::kShared, report)) return;
  SubnetBallot ballot;
  std::vector<const DeviceView*> devices;
  devices.reserve(view.expected_devices());
  report.ForEachAddress([&](const DeviceView& device) {
    report.Judged(device);
    devices.push_back(&device);
    Vote(device, &ballot);
  });
  if (devices.empty()) return;
  const Ipv4Subnet common = MostCommon(ballot);
  if (ballot[common].live == devices.size()) return;
  const bool minority_routed =
      absl::c_all_of(devices, [&](const DeviceView* device) {
        return device->Address().subnet() == common || HasRoute(*device);
      });
  AddUnrouted(devices, common, /*inside=*/false, report);
  if (minority_routed) AddUnrouted(devices, common, /*inside=*/true, report);
}

}  // namespace clusterd
