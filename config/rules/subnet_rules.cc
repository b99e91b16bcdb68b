#include "config/rules/subnet_rules.h"

#include <algorithm>
#include <map>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace clusterd {
namespace {

// Atlas training series: two groups of four devices.
constexpr uint32_t kGroupSize = 4;

// False, with the reason told, where the product does not ask for the plan.
bool Applies(const ClusterView& view, SubnetPlan plan, RuleReport& report) {
  if (view.profile().subnet_plan == plan) return true;
  report.ExplainSkip(absl::StrCat(view.profile().title, " has no such rule"));
  return false;
}

std::string DeviceText(const DeviceView& device) {
  return absl::StrCat("device ", device.id, " has ",
                      device.Address().ToString());
}

// Commands that bring the devices to the plan; words where they are there.
std::string PlanFix(const std::vector<const DeviceView*>& devices) {
  std::vector<std::string> commands;
  for (const DeviceView* device : devices) {
    if (!device->planned.has_value() || device->HasPlannedAddress()) continue;
    commands.push_back(ToolCommand(device->id, SetPlannedAddress(*device)));
  }
  if (commands.empty()) {
    return "correct the addresses in cluster.yaml, then set them";
  }
  return absl::StrJoin(commands, " && ");
}

// Devices of one host that are wrong together.
void AddDevices(const HostView& host,
                const std::vector<const DeviceView*>& devices,
                std::string expected, RuleReport& report) {
  std::vector<uint32_t> ids;
  std::vector<std::string> texts;
  for (const DeviceView* device : devices) {
    ids.push_back(device->id);
    texts.push_back(DeviceText(*device));
  }
  report.Add(host, ids,
             {FAIL, absl::StrJoin(texts, ", "), std::move(expected),
              PlanFix(devices)});
}

// Devices with an address by id, as ForEachAddress meets them: all of a host,
// then the next host.
template <typename Judge>
void ForEachHostsAddresses(const ClusterView& view, RuleReport& report,
                           Judge judge) {
  const HostView* current = nullptr;
  std::vector<const DeviceView*> devices;
  ForEachAddress(view, report,
                 [&](const HostView& host, const DeviceView& device) {
                   if (current != nullptr && current != &host) {
                     judge(*current, devices);
                     devices.clear();
                   }
                   current = &host;
                   devices.push_back(&device);
                 });
  if (current != nullptr) judge(*current, devices);
}

const DeviceView* FindIn(const std::vector<const DeviceView*>& devices,
                         uint32_t id) {
  for (const DeviceView* device : devices) {
    if (device->id == id) return device;
  }
  return nullptr;
}

// How often each subnet occurs, and as how many devices' plan.
struct Votes {
  uint32_t live = 0;
  uint32_t planned = 0;
};

// The subnet of most devices; of equals the one that more of them plan, then
// the lowest.
using Ballot = absl::flat_hash_map<Ipv4Subnet, Votes>;

Ipv4Subnet MostCommon(const Ballot& ballot) {
  const auto winner = std::max_element(
      ballot.begin(), ballot.end(), [](const auto& a, const auto& b) {
        if (a.second.live != b.second.live) {
          return a.second.live < b.second.live;
        }
        if (a.second.planned != b.second.planned) {
          return a.second.planned < b.second.planned;
        }
        return b.first < a.first;
      });
  return winner->first;
}

void Vote(const DeviceView& device, Ballot* ballot) {
  ++(*ballot)[device.Address().subnet()].live;
  // A plan counts only for subnets that are in use.
  if (!device.planned.has_value()) return;
  ++(*ballot)[device.planned->subnet()].planned;
}

FindingText OtherSubnet(const DeviceView& device, const Ipv4Subnet& right,
                        const Ballot& ballot) {
  const Ipv4Subnet own = device.Address().subnet();
  const uint32_t there = ballot.find(right)->second.live;
  FindingText text;
  text.observed =
      absl::StrCat(device.Address().ToString(), " lies in ", own.ToString());
  text.expected =
      absl::StrCat(right.ToString(), ", as on ", Count(there, "other host"));
  if (device.planned.has_value() && device.planned->subnet() == right) {
    text.device_command = SetPlannedAddress(device);
  } else {
    text.fix = absl::StrCat("plan an address in ", right.ToString(),
                            " for the device in cluster.yaml and set it");
  }
  return text;
}

bool HasRoute(const DeviceView& device) {
  return device.gateway_known == Known::kYes &&
         device.Address().subnet().Contains(device.gateway) &&
         device.gateway != device.Address().address();
}

struct Placed {
  const HostView* host;
  const DeviceView* device;
};

// The devices in `of`, or outside it, that no gateway takes to the others.
void AddUnrouted(const std::vector<Placed>& devices, const Ipv4Subnet& common,
                 bool inside, RuleReport& report) {
  for (const auto& [host, device] : devices) {
    const Ipv4Interface own = device->Address();
    if ((own.subnet() == common) != inside || HasRoute(*device)) continue;
    if (device->gateway_known == Known::kNo) {
      report.AddUnknownAddress(
          *host, *device,
          absl::StrCat("gateway from ", own.subnet().ToString(),
                       " to the other subnets"),
          device->facts->gateway());
      continue;
    }
    FindingText text;
    text.observed = absl::StrCat(own.ToString(), ", no gateway in ",
                                 own.subnet().ToString());
    text.expected = inside ? "a gateway to the cluster's other subnets"
                           : absl::StrCat("an address in ", common.ToString(),
                                          ", as most devices, or a gateway");
    if (device->planned.has_value() && !device->HasPlannedAddress()) {
      text.device_command = SetPlannedAddress(*device);
    } else if (device->spec != nullptr && !device->spec->gateway().empty()) {
      text.device_command =
          absl::StrCat("-gateway -s gateway ", device->spec->gateway());
    } else {
      text.fix = absl::StrCat("plan an address in ", common.ToString(),
                              " or a gateway for the device in cluster.yaml, "
                              "and set it");
    }
    report.Add(*host, device->id, std::move(text));
  }
}

}  // namespace

void CheckSubnetPairs(const ClusterView& view, RuleReport& report) {
  if (!Applies(view, SubnetPlan::kPairs, report)) return;
  ForEachHostsAddresses(
      view, report,
      [&](const HostView& host, const std::vector<const DeviceView*>& devices) {
        for (uint32_t id = 0; id < kGroupSize; ++id) {
          const DeviceView* first = FindIn(devices, id);
          const DeviceView* second = FindIn(devices, id + kGroupSize);
          if (first == nullptr || second == nullptr) continue;
          report.Judged(host, 2);
          if (first->Address().subnet() == second->Address().subnet()) continue;
          AddDevices(host, {first, second},
                     absl::StrCat("devices ", id, " and ", id + kGroupSize,
                                  " in one subnet"),
                     report);
        }
      });
}

void CheckSubnetDistinct(const ClusterView& view, RuleReport& report) {
  if (!Applies(view, SubnetPlan::kPairs, report)) return;
  ForEachHostsAddresses(
      view, report,
      [&](const HostView& host, const std::vector<const DeviceView*>& devices) {
        for (const uint32_t base : {uint32_t{0}, kGroupSize}) {
          std::vector<const DeviceView*> group;
          for (uint32_t id = base; id < base + kGroupSize; ++id) {
            const DeviceView* device = FindIn(devices, id);
            if (device != nullptr) group.push_back(device);
          }
          if (group.size() < 2) continue;
          report.Judged(host, group.size());
          std::vector<const DeviceView*> sharing;
          for (const DeviceView* device : group) {
            const Ipv4Subnet subnet = device->Address().subnet();
            for (const DeviceView* other : group) {
              if (other == device ||
                  !subnet.Overlaps(other->Address().subnet())) {
                continue;
              }
              sharing.push_back(device);
              break;
            }
          }
          if (sharing.empty()) continue;
          AddDevices(host, sharing,
                     absl::StrCat("devices ", base, "-", base + kGroupSize - 1,
                                  " in four different subnets"),
                     report);
        }
      });
}

void CheckSubnetAcrossHosts(const ClusterView& view, RuleReport& report) {
  if (!Applies(view, SubnetPlan::kPairs, report)) return;
  if (view.hosts().size() < 2) {
    report.ExplainSkip("fewer than two hosts answered");
    return;
  }
  std::map<uint32_t, std::vector<Placed>> rails;
  ForEachAddress(view, report,
                 [&](const HostView& host, const DeviceView& device) {
                   rails[device.id].push_back({&host, &device});
                 });
  for (const HostView& host : view.hosts()) {
    for (const DeviceView& device : host.devices) {
      // A device alone on its rail has nothing to agree with.
      const bool compared =
          device.address_known == Known::kYes && rails[device.id].size() > 1;
      if (compared) report.Judged(host, 1);
    }
  }
  for (const auto& [id, devices] : rails) {
    Ballot ballot;
    for (const Placed& placed : devices) Vote(*placed.device, &ballot);
    const Ipv4Subnet right = MostCommon(ballot);
    for (const auto& [host, device] : devices) {
      if (device->Address().subnet() == right) continue;
      report.Add(*host, device->id, OtherSubnet(*device, right, ballot));
    }
  }
}

void CheckSubnetShared(const ClusterView& view, RuleReport& report) {
  if (!Applies(view, SubnetPlan::kShared, report)) return;
  Ballot ballot;
  std::vector<Placed> devices;
  devices.reserve(view.expected_devices());
  ForEachAddress(view, report,
                 [&](const HostView& host, const DeviceView& device) {
                   report.Judged(host, 1);
                   devices.push_back({&host, &device});
                   Vote(device, &ballot);
                 });
  if (devices.empty()) return;
  const Ipv4Subnet common = MostCommon(ballot);
  if (ballot.find(common)->second.live == devices.size()) return;
  bool minority_routed = true;
  for (const auto& [host, device] : devices) {
    if (device->Address().subnet() == common || HasRoute(*device)) continue;
    minority_routed = false;
  }
  AddUnrouted(devices, common, /*inside=*/false, report);
  if (minority_routed) AddUnrouted(devices, common, /*inside=*/true, report);
}

}  // namespace clusterd
