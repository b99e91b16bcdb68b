#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "config/plan/settings.h"
#include "config/plan/step_planners.h"
#include "config/spec/product_profile.h"
#include "config/words/fact_text.h"

namespace clusterd {
namespace {

// Why no network would work with this address; "": nothing is known against it.
std::string WhyUnusable(const ClusterSpec& spec, const Ipv4Interface& wanted) {
  const Ipv4Address address = wanted.address();
  const Ipv4Subnet subnet = wanted.subnet();
  if (wanted.prefix_length() == 0) return "its netmask is 0.0.0.0";
  if (wanted.prefix_length() < 31 &&
      (address == subnet.network() || address == subnet.broadcast())) {
    return absl::StrCat("it is the first or last address of ",
                        subnet.ToString());
  }
  return WhyNobodys(spec, address);
}

// Fills in what is known of the live address. False, with `why`, if it cannot
// be told.
bool ReadLive(const DeviceFacts* facts, std::optional<Ipv4Interface>* live,
              std::string* why) {
  if (facts == nullptr) {
    *why = "the host has no such device, or sent nothing about it";
    return false;
  }
  if (!IsKnown(facts->address())) {
    *why = absl::StrCat("its live address is not known: ",
                        WhyUnknown(facts->address()));
    return false;
  }
  const auto& settings = facts->address().value().settings();
  if (settings.size() > 1) {
    *why = absl::StrCat("it has ", settings.size(),
                        " live addresses, and hccn_tool sets one");
    return false;
  }
  if (settings.empty()) return true;
  const absl::StatusOr<Ipv4Interface> parsed =
      Ipv4Interface::Parse(settings[0].address(), settings[0].netmask());
  if (!parsed.ok()) {
    *why = absl::StrCat("its live address is not readable: ",
                        parsed.status().message());
    return false;
  }
  *live = *parsed;
  return true;
}

// Whether the spec asks for an address of the device or what goes with it.
bool AsksForAddresses(const ClusterSpec& spec, const DeviceSpec& device) {
  return std::any_of(DeviceSettings().begin(), DeviceSettings().end(),
                     [&](const DeviceSetting& setting) {
                       return setting.always_saved &&
                              setting.wanted(spec, device).has_value();
                     });
}

// Adds what is to be done about the device's address; blocks it if that is not
// known.
void Collect(const ClusterSpec& spec, const DeviceSpec& device,
             HostPlanBuilder* plan, std::vector<DeviceChange>* changes) {
  DeviceChange change;
  change.spec = &device;
  change.facts = plan->FindDevice(device.id());
  const std::string what = device.address().empty()
                               ? "network settings"
                               : absl::StrCat("address ", device.address(),
                                              " netmask ", device.netmask());
  std::string why;
  if (!ReadLive(change.facts, &change.live, &why)) {
    if (!AsksForAddresses(spec, device)) return;
    plan->Block(CHANGE_DEVICE_ADDRESS, {device.id()}, what, why, kAskTheTool);
    return;
  }
  if (!device.address().empty()) {
    const auto wanted =
        Ipv4Interface::Parse(device.address(), device.netmask());
    why = wanted.ok() ? WhyUnusable(spec, *wanted)
                      : std::string(wanted.status().message());
    if (!why.empty()) {
      plan->Block(CHANGE_DEVICE_ADDRESS, {device.id()}, what, why,
                  kCorrectSpec);
      return;
    }
    change.wanted = *wanted;
    change.sets_address = change.live != change.wanted;
  }
  changes->push_back(change);
}

// Blocks devices whose address another device has and keeps.
void BlockTaken(HostPlanBuilder* plan, std::vector<DeviceChange>* changes) {
  std::map<std::string, uint32_t> keepers;  // Address to device.
  for (const DeviceFacts& device : plan->facts().devices()) {
    const bool moves = std::any_of(
        changes->begin(), changes->end(), [&device](const DeviceChange& each) {
          return each.sets_address && each.spec->id() == device.id();
        });
    if (moves) continue;
    for (const Ipv4Setting& setting : device.address().value().settings()) {
      keepers.emplace(setting.address(), device.id());
    }
  }
  const auto taken = std::remove_if(
      changes->begin(), changes->end(), [&](const DeviceChange& change) {
        if (!change.sets_address) return false;
        const auto keeper = keepers.find(change.wanted->address().ToString());
        if (keeper == keepers.end()) return false;
        plan->Block(CHANGE_DEVICE_ADDRESS, {change.spec->id()},
                    absl::StrCat("address ", change.spec->address()),
                    absl::StrCat("device ", keeper->second,
                                 " of this host has it and keeps it"),
                    "correct the spec, or the other device");
        return true;
      });
  changes->erase(taken, changes->end());
}

// Blocks what goes round in a circle.
std::vector<DeviceChange> InOrder(std::vector<DeviceChange> waiting,
                                  HostPlanBuilder* plan) {
  std::vector<DeviceChange> ordered;
  const auto is_taken = [&waiting](const DeviceChange& change) {
    return change.sets_address &&
           std::any_of(waiting.begin(), waiting.end(),
                       [&change](const DeviceChange& other) {
                         return other.spec != change.spec &&
                                other.sets_address && other.live &&
                                other.live->address() ==
                                    change.wanted->address();
                       });
  };
  while (!waiting.empty()) {
    const auto next =
        std::find_if_not(waiting.begin(), waiting.end(), is_taken);
    if (next == waiting.end()) break;
    ordered.push_back(*next);
    waiting.erase(next);
  }
  for (const DeviceChange& change : waiting) {
    plan->Block(
        CHANGE_DEVICE_ADDRESS, {change.spec->id()},
        absl::StrCat("address ", change.spec->address()),
        "devices of this host take over each other's addresses in a circle, "
        "and hccn_tool refuses an address that another device has",
        "give one of these devices an unused address by hand, then plan again");
  }
  return ordered;
}

}  // namespace

std::string WhyNobodys(const ClusterSpec& spec, Ipv4Address address) {
  if (address.IsUnset() || address.IsLoopback() || address.IsMulticast() ||
      address.IsClassE()) {
    return "it is no address of a network port";
  }
  const auto profile = FindProductProfile(spec.product(), spec.mode());
  if (!profile.ok()) return "";
  for (const ReservedSubnet& reserved : (*profile)->reserved) {
    if (reserved.subnet.Contains(address)) {
      return absl::StrCat("hccn_tool refuses ", reserved.subnet.ToString(),
                          ": ", reserved.why);
    }
  }
  return "";
}

std::vector<DeviceChange> OrderAddresses(const ClusterSpec& spec,
                                         const ServerSpec& server,
                                         HostPlanBuilder* plan) {
  std::vector<DeviceChange> changes;
  for (const DeviceSpec& device : server.devices()) {
    Collect(spec, device, plan, &changes);
  }
  BlockTaken(plan, &changes);
  return InOrder(std::move(changes), plan);
}

}  // namespace clusterd
