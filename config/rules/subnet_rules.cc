// How device addresses spread over subnets, as the product's profile demands.
// Subnets are those of the live addresses, from address and netmask both.
#include <iterator>
#include <map>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "config/rules/rule_report.h"
#include "config/rules/view/ballot.h"
#include "config/rules/view/cluster_view.h"

namespace clusterd {
namespace {

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

using Ids = std::vector<uint32_t>;

// Calls judge(ids, devices) for the devices with an address of every host and
// every group of ids, where there are two or more; these count as judged.
template <typename Judge>
void ForEachGroup(RuleReport& report, const std::vector<Ids>& groups,
                  Judge judge) {
  std::vector<const DeviceView*> devices;  // Of one host.
  const auto judge_host = [&] {
    for (const Ids& ids : groups) {
      std::vector<const DeviceView*> group;
      absl::c_copy_if(devices, std::back_inserter(group),
                      [&](const DeviceView* device) {
                        return absl::c_linear_search(ids, device->id);
                      });
      if (group.size() < 2) continue;
      for (const DeviceView* device : group) report.Judged(*device);
      judge(ids, group);
    }
    devices.clear();
  };
  // It meets all devices of a host, then the next host.
  report.ForEachAddress([&](const DeviceView& device) {
    if (!devices.empty() && devices.back()->host != device.host) judge_host();
    devices.push_back(&device);
  });
  judge_host();
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
  ForEachGroup(
      report, {{0, 4}, {1, 5}, {2, 6}, {3, 7}},
      [&](const Ids& ids, const auto& pair) {
        if (pair[0]->Address().subnet() == pair[1]->Address().subnet()) {
          return;
        }
        report.Add(pair, "apart", AddressesText(pair), ids[0], ids[1],
                   PlanFix(pair));
      });
}

// Devices 0-3, and 4-7, of one host: equal or overlapping subnets fail; profile
// kPairs only.
void CheckSubnetDistinct(const ClusterView& view, RuleReport& report) {
  if (!Applies(view, SubnetPlan::kPairs, report)) return;
  ForEachGroup(report, {{0, 1, 2, 3}, {4, 5, 6, 7}},
               [&](const Ids& ids, const auto& devices) {
                 const auto sharing = Sharing(devices);
                 if (sharing.empty()) return;
                 report.Add(sharing, "together", AddressesText(sharing),
                            ids.front(), ids.back(), PlanFix(sharing));
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
