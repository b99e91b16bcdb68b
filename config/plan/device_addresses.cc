#include <algorithm>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/status/statusor.h"
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

// The live address, if one is set. An error: it cannot be told, or is not one.
absl::StatusOr<std::optional<Ipv4Interface>> ReadLive(
    const DeviceFacts* facts) {
  if (facts == nullptr) {
    return absl::NotFoundError(
        "the host has no such device, or sent nothing about it");
  }
  if (!IsKnown(facts->address())) {
    return absl::UnavailableError(absl::StrCat(
        "its live address is not known: ", WhyUnknown(facts->address())));
  }
  const auto& settings = facts->address().value().settings();
  if (settings.empty()) return std::nullopt;
  if (settings.size() > 1) {
    return absl::FailedPreconditionError(absl::StrCat(
        "it has ", settings.size(), " live addresses, and hccn_tool sets one"));
  }
  const auto live =
      Ipv4Interface::Parse(settings[0].address(), settings[0].netmask());
  if (live.ok()) return *live;
  return absl::InvalidArgumentError(absl::StrCat(
      "its live address is not readable: ", live.status().message()));
}

// Whether the spec asks for an address of the device or what goes with it.
bool AsksForAddresses(const ClusterSpec& spec, const DeviceSpec& device) {
  return absl::c_any_of(DeviceSettings(), [&](const DeviceSetting& setting) {
    return setting.always_saved && setting.wanted(spec, device).has_value();
  });
}

// Adds what is to be done about the device's address; blocks it if that is not
// known.
void Collect(const ClusterSpec& spec, const DeviceSpec& device,
             HostPlanBuilder* plan, std::vector<DeviceChange>* changes) {
  DeviceChange change;
  change.spec = &device;
  change.facts = plan->FindDevice(device.id());
  const bool names_one = !device.address().empty();
  const auto block = [&](absl::string_view why, absl::string_view fix) {
    plan->Block(CHANGE_DEVICE_ADDRESS, {device.id()},
                names_one ? absl::StrCat("address ", device.address(),
                                         " netmask ", device.netmask())
                          : "network settings",
                why, fix);
  };
  const auto live = ReadLive(change.facts);
  if (!live.ok()) {
    if (!AsksForAddresses(spec, device)) return;
    return block(live.status().message(), kAskTheTool);
  }
  change.live = *live;
  if (names_one) {
    const auto wanted =
        Ipv4Interface::Parse(device.address(), device.netmask());
    if (!wanted.ok()) return block(wanted.status().message(), kCorrectSpec);
    const std::string why = WhyUnusable(spec, *wanted);
    if (!why.empty()) return block(why, kCorrectSpec);
    change.wanted = *wanted;
    change.sets_address = change.live != change.wanted;
  }
  changes->push_back(change);
}

// Blocks devices whose address another device has and keeps.
void BlockTaken(HostPlanBuilder* plan, std::vector<DeviceChange>* changes) {
  std::map<std::string, uint32_t> owners;  // Address to device.
  for (const DeviceFacts& device : plan->facts().devices()) {
    const bool moves = absl::c_any_of(*changes, [&](const DeviceChange& each) {
      return each.sets_address && each.spec->id() == device.id();
    });
    if (moves) continue;
    for (const Ipv4Setting& setting : device.address().value().settings()) {
      owners.emplace(setting.address(), device.id());
    }
  }
  const auto taken = std::remove_if(
      changes->begin(), changes->end(), [&](const DeviceChange& change) {
        if (!change.sets_address) return false;
        const auto owner = owners.find(change.wanted->address().ToString());
        if (owner == owners.end()) return false;
        plan->Block(CHANGE_DEVICE_ADDRESS, {change.spec->id()},
                    absl::StrCat("address ", change.spec->address()),
                    absl::StrCat("device ", owner->second,
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
  const auto is_free = [&waiting](const DeviceChange& change) {
    return !change.sets_address ||
           absl::c_none_of(waiting, [&change](const DeviceChange& other) {
             return other.spec != change.spec && other.sets_address &&
                    other.live &&
                    other.live->address() == change.wanted->address();
           });
  };
  while (true) {
    const auto next = absl::c_find_if(waiting, is_free);
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
