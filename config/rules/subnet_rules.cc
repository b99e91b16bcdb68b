// Checks how device addresses spread over subnets, as the product's profile
// demands. Subnets are those of the live addresses, from address and netmask.
#include <iterator>
#include <map>
#include <optional>

#include "absl/algorithm/container.h"
#include "absl/strings/str_join.h"
#include "config/rules/rule_report.h"
#include "config/rules/view/ballot.h"
#include "config/rules/view/cluster_view.h"
#include "config/words/subject_text.h"

namespace clusterd {
namespace {

// Skips the rule and returns false if the product does not ask for the plan.
bool Applies(const ClusterView& view, SubnetPlan plan, RuleReport& report) {
  if (view.profile().subnet_plan == plan) return true;
  report.SkipFor("no-such-rule", Term(view.profile().title));
  return false;
}

// Commands that bring the devices to the plan; words if they match it.
FindingValue PlanFix(const std::vector<const DeviceView*>& devices) {
  std::vector<std::string> commands;
  for (const DeviceView* device : devices) {
    if (!device->planned.has_value() || device->HasPlannedAddress()) continue;
    commands.push_back(ToolCommand(device->id, SetPlanned(*device)));
  }
  if (commands.empty()) return Worded("correct-planned-addresses");
  return ToFindingValue(absl::StrJoin(commands, " && "));
}

FindingValue AddressesOf(const std::vector<const DeviceView*>& devices) {
  const auto of = [](const DeviceView* device) {
    return Worded("device-has", device->id, device->Address().ToString());
  };
  return Listed(Each<FindingValue>(devices, of), devices.size());
}

using Ids = std::vector<uint32_t>;

// Calls judge(ids, devices) for the devices with an address of every host and
// every group of ids with two or more; these count as judged.
template <typename Judge>
void ForEachGroup(RuleReport& report, const std::vector<Ids>& groups,
                  Judge judge) {
  std::vector<const DeviceView*> devices;  // One host's.
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
  // All devices of a host come in a row.
  report.ForEachAddress([&](const DeviceView& device) {
    if (!devices.empty() && devices.back()->host != device.host) judge_host();
    devices.push_back(&device);
  });
  judge_host();
}

// Devices whose subnet overlaps another one's.
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

// By subnet: how many devices lie in one, and how many are planned there.
using SubnetBallot = Ballot<Ipv4Subnet>;

void Vote(const DeviceView& device, SubnetBallot* ballot) {
  const Ipv4Subnet own = device.Address().subnet();
  Votes& votes = (*ballot)[own];
  ++votes.live;
  // A plan counts only for subnets that are in use.
  if (!device.planned.has_value()) return;
  const Ipv4Subnet planned = device.planned->subnet();
  ++(planned == own ? votes : (*ballot)[planned]).planned;
}

// True with a gateway inside its subnet, even if another device keeps it.
bool HasRoute(const ClusterView& view, const DeviceView& device) {
  const Ipv4Interface own = device.Address();
  const DeviceView* const keeper = GatewayKeeper(view, device);
  const AddressReading& gateway =
      keeper == nullptr ? device.gateway : keeper->gateway;
  return gateway.IsSet() && own.subnet().Contains(*gateway) &&
         *gateway != own.address();
}

// Devices of one id, and the subnet that most of them have.
struct Rail {
  std::vector<const DeviceView*> devices;
  SubnetBallot ballot;
};

std::map<uint32_t, Rail> RailsOf(
    const std::vector<const DeviceView*>& devices) {
  std::map<uint32_t, Rail> rails;
  for (const DeviceView* device : devices) {
    Rail& rail = rails[device->id];
    rail.devices.push_back(device);
    Vote(*device, &rail.ballot);
  }
  return rails;
}

bool IsMisplaced(const DeviceView& device) {
  return device.planned.has_value() && !device.HasPlannedAddress();
}

size_t CountInCommon(const std::map<uint32_t, Rail>& rails) {
  size_t sum = 0;
  for (const auto& [id, rail] : rails) {
    // A single device off its planned address is not a rail.
    if (rail.devices.size() == 1 && IsMisplaced(*rail.devices[0])) continue;
    sum += rail.ballot.at(MostCommon(rail.ballot)).live;
  }
  return sum;
}

// Devices whose ids have a subnet each, without a gateway between them. A
// device cabled to an NPU reaches only that one, without routes.
// | every neighbour heard is an NPU | others | verdict                      |
// |---------------------------------|--------|------------------------------|
// | yes, one at least               | none   | pass                         |
// | yes                             | not    | unknown for those not known; |
// |                                 | known  | a lack of one is rule lldp's |
// | no                              |        | warn                         |
void JudgeRails(const Rail& all, RuleReport& report) {
  bool any_npu = false, any_other = false;
  for (const DeviceView* device : all.devices) {
    if (!device->neighbour_heard.value_or(false)) continue;
    const bool is_npu =
        device->facts->lldp().value().peer() == LldpNeighbour::NPU;
    (is_npu ? any_npu : any_other) = true;
  }
  if (any_other || !any_npu) {
    const auto in_use = absl::c_count_if(
        all.ballot, [](const auto& subnet) { return subnet.second.live > 0; });
    return report.Add(report.Named("whole-rails", in_use));
  }
  for (const DeviceView* device : all.devices) {
    report.Knows(*device, "LLDP neighbour", device->neighbour_heard);
  }
}

// The devices in the most common subnet, or outside it, without a route.
void AddUnrouted(const Rail& rail, bool inside, const ClusterView& view,
                 RuleReport& report) {
  const Ipv4Subnet common = MostCommon(rail.ballot);
  const bool is_tied = !Majority(rail.ballot).has_value();
  for (const DeviceView* device : rail.devices) {
    const Ipv4Subnet own = device->Address().subnet();
    if ((own == common) != inside || HasRoute(view, *device)) continue;
    if (!device->gateway.has_value()) {
      report.Knows(*device, Worded("gateway-from", own.ToString()),
                   device->gateway);
      continue;
    }
    report.Add(*device, inside || is_tied ? "inside" : "outside",
               device->Address().ToString(), own.ToString(), common.ToString(),
               IsMisplaced(*device) ? SetPlanned(*device)
                                    : SetPlanned(kGateway, *device));
  }
}

// With several subnets, devices outside the most common one need a gateway
// inside their own. If all of them have one, so must the others, for the way
// back, and if no subnet is the most common.
void JudgeRoutes(const Rail& rail, const ClusterView& view,
                 RuleReport& report) {
  const Ipv4Subnet common = MostCommon(rail.ballot);
  if (rail.ballot.at(common).live == rail.devices.size()) return;
  const bool minority_routed =
      absl::c_all_of(rail.devices, [&](const DeviceView* device) {
        return device->Address().subnet() == common || HasRoute(view, *device);
      });
  AddUnrouted(rail, /*inside=*/false, view, report);
  if (!minority_routed && Majority(rail.ballot).has_value()) return;
  AddUnrouted(rail, /*inside=*/true, view, report);
}

}  // namespace

// Devices i and i+4 of one host; profile kPairs only.
void CheckSubnetPairs(const ClusterView& view, RuleReport& report) {
  if (!Applies(view, SubnetPlan::kPairs, report)) return;
  ForEachGroup(report, {{0, 4}, {1, 5}, {2, 6}, {3, 7}},
               [&](const Ids& ids, const auto& pair) {
                 if (pair[0]->Address().subnet() == pair[1]->Address().subnet())
                   return;
                 report.Add(pair, "apart", AddressesOf(pair), ids[0], ids[1],
                            PlanFix(pair));
               });
}

// Devices 0-3, and 4-7, of one host: overlapping subnets fail; kPairs only.
void CheckSubnetDistinct(const ClusterView& view, RuleReport& report) {
  if (!Applies(view, SubnetPlan::kPairs, report)) return;
  ForEachGroup(report, {{0, 1, 2, 3}, {4, 5, 6, 7}},
               [&](const Ids& ids, const auto& devices) {
                 const auto sharing = Sharing(devices);
                 if (sharing.empty()) return;
                 report.Add(sharing, "together", AddressesOf(sharing),
                            ids.front(), ids.back(), PlanFix(sharing));
               });
}

// Device i of all hosts; profile kPairs only. The subnet of most hosts counts
// as right, on a tie the planned one. Skipped with fewer than two hosts.
void CheckSubnetAcrossHosts(const ClusterView& view, RuleReport& report) {
  if (!Applies(view, SubnetPlan::kPairs, report)) return;
  if (view.hosts().size() < 2) {
    return report.SkipFor("fewer-than-two-hosts");
  }
  std::vector<const DeviceView*> all;
  report.ForEachAddress(
      [&](const DeviceView& device) { all.push_back(&device); });
  std::map<uint32_t, Rail> rails = RailsOf(all);
  for (const DeviceView* device : all) {
    // The only device on a rail is not compared.
    if (rails[device->id].devices.size() > 1) report.Judged(*device);
  }
  for (const auto& [id, rail] : rails) {
    const SubnetBallot& ballot = rail.ballot;
    const std::optional<Ipv4Subnet> majority = Majority(ballot);
    for (const DeviceView* device : rail.devices) {
      const Ipv4Interface own = device->Address();
      if (own.subnet() == majority) continue;
      if (!majority.has_value()) {
        report.Add(*device,
                   TiedText(report, {FAIL, "subnet", "host"}, ballot,
                            own.subnet(), std::mem_fn(&Ipv4Subnet::ToString)));
        continue;
      }
      const Ipv4Subnet right = *majority;
      const bool is_planned =
          device->planned.has_value() && device->planned->subnet() == right;
      report.Add(*device, "another", own.ToString(), own.subnet().ToString(),
                 right.ToString(), Counted(ballot.at(right).live, "other host"),
                 is_planned ? SetPlanned(*device) : "");
    }
  }
}

// All devices of the cluster, if the profile wants one subnet for them or one
// per server. If more devices fit a subnet per device id than one for all, only
// those of one id have to meet, and JudgeRails decides.
void CheckSubnetShared(const ClusterView& view, RuleReport& report) {
  if (view.profile().subnet_plan != SubnetPlan::kPerServer &&
      !Applies(view, SubnetPlan::kShared, report)) {
    return;
  }
  Rail all;
  all.devices.reserve(view.expected_devices());
  report.ForEachAddress([&](const DeviceView& device) {
    report.Judged(device);
    all.devices.push_back(&device);
    Vote(device, &all.ballot);
  });
  if (all.devices.empty()) return;
  const Ipv4Subnet common = MostCommon(all.ballot);
  const size_t in_common = all.ballot[common].live;
  const size_t routed = absl::c_count_if(
      all.devices,
      [&](const DeviceView* device) { return HasRoute(view, *device); });
  const size_t devices = all.devices.size();
  if (in_common == devices || routed == devices) return;
  // If most have a route by gateway, the ones without are wrong.
  if (2 * routed > devices) return JudgeRoutes(all, view, report);
  const std::map<uint32_t, Rail> rails = RailsOf(all.devices);
  // Rails with a common subnet do not count, unless all of them are whole.
  const size_t on_rails = CountInCommon(rails);
  const size_t alike = absl::c_count_if(rails, [&](const auto& rail) {
    return MostCommon(rail.second.ballot) == common;
  });
  if (on_rails <= in_common ||
      (on_rails < devices && 2 * alike > rails.size())) {
    return JudgeRoutes(all, view, report);
  }
  for (const auto& [id, rail] : rails) JudgeRoutes(rail, view, report);
  JudgeRails(all, report);
}

}  // namespace clusterd
