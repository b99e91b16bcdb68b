// The planner of gateways. Some products have one routing table for a group of
// devices, so that setting one device's gateway deletes another's.
#include <utility>

#include "absl/strings/str_cat.h"
#include "config/plan/device_planner.h"
#include "config/plan/hccn_conf_text.h"
#include "config/words/fact_text.h"

namespace clusterd {
namespace {

// With this key `-gateway -s` sets the gateway live, removes a stored one and
// stores none (recorded run x-gateway-set-udhcpc-stored).
constexpr char kDhcpKey[] = "udhcpc_enable";

constexpr int kNoKeeper = 3;

const char* FourOf(uint32_t id) { return id < 4 ? "0-3" : "4-7"; }

}  // namespace

GatewayPlanner::GatewayPlanner(const std::vector<DeviceChange>& changes,
                               DevicePlanner* devices)
    : row_(DeviceSettingOf(SETTING_GATEWAY)),
      devices_(*devices),
      plan_(devices->plan()) {
  for (const DeviceChange& change : changes) ChooseKeeper(change);
}

std::optional<SettingValue> GatewayPlanner::Asked(
    const DeviceChange& change) const {
  return row_.Wanted(devices_.spec(), *change.spec);
}

Obstruction GatewayPlanner::WhyNot(const DeviceChange& change,
                                   const SettingValue& gateway) const {
  const auto address = AddressOf(gateway);
  const auto& own = change.wanted ? change.wanted : change.live;
  if (address && own && own->subnet().Contains(*address)) return std::nullopt;
  return Worded("plan-say-outside-subnet");
}

bool GatewayPlanner::HasDhcp(uint32_t device) const {
  return plan_.HasConfLine(HccnConfKey(kDhcpKey, device));
}

bool GatewayPlanner::IsStored(uint32_t device,
                              const SettingValue& gateway) const {
  return ParseSetting(row_,
                      {plan_.ConfValue(HccnConfKey("gateway", device))}) ==
         gateway;
}

// The gateway that another device loses when this one's is set: of the devices
// that share one, the stored line of the lowest id (recorded runs
// x-A1-gateway).
TakenGateway GatewayPlanner::TakenBy(uint32_t device) const {
  TakenGateway taken;
  for (const HccnConf::Entry& entry :
       plan_.facts().hccn_conf().value().entries()) {
    if (entry.key() != "gateway" || !entry.has_device() ||
        !ShareGateway(devices_.profile(), entry.device(), device)) {
      continue;
    }
    if (taken.entry == nullptr || entry.device() < taken.entry->device()) {
      taken = {&entry, RepairedEntry(entry).value()};
    }
  }
  const bool is_own = taken.entry != nullptr && taken.entry->device() == device;
  return is_own ? TakenGateway() : taken;
}

int GatewayPlanner::KeeperRank(const DeviceChange& change) const {
  const SettingValue live = LiveOf(change);
  const auto asked = Asked(change);
  if (IsUnknown(live) || HasDhcp(change.id())) return kNoKeeper;
  if (!asked) return live.has_none() ? kNoKeeper : 2;
  if (WhyNot(change, *asked)) return kNoKeeper;
  return live == *asked ? 0 : 1;
}

// Chooses among the devices that share a gateway: first one that has the spec's
// gateway, then one that could get it, then one that has any; among equals the
// lowest. So no step removes what another one sets.
void GatewayPlanner::ChooseKeeper(const DeviceChange& change) {
  if (KeeperRank(change) == kNoKeeper) return;
  const DeviceChange* const keeper = KeeperFor(change.id());
  if (keeper != nullptr) {
    const auto rank = [this](const DeviceChange& each) {
      return std::make_pair(KeeperRank(each), each.id());
    };
    if (rank(*keeper) < rank(change)) return;
    keepers_.erase(keeper->id());
  }
  keepers_.emplace(change.id(), change);
}

// The device that gets or keeps the gateway among those that share it; nullptr:
// none has, or could get, one.
const DeviceChange* GatewayPlanner::KeeperFor(uint32_t device) const {
  for (const auto& [id, keeper] : keepers_) {
    if (ShareGateway(devices_.profile(), id, device)) return &keeper;
  }
  return nullptr;
}

bool GatewayPlanner::MaySet(uint32_t device) const {
  const DeviceChange* const keeper = KeeperFor(device);
  return !HasDhcp(device) && (keeper == nullptr || keeper->id() == device);
}

// Blocks the spec's gateway; false.
bool GatewayPlanner::Blocks(const DeviceChange& change, const FindingValue& why,
                            const FindingValue& fix) {
  devices_.Block(row_, change.id(), Asked(change).value_or(NoneValue()), why,
                 fix);
  return false;
}

// True if a step could change the device's gateway. Blocks what the spec
// requests but no step can do.
bool GatewayPlanner::CanPlan(const DeviceChange& change) {
  const uint32_t id = change.id();
  const auto asked = Asked(change);
  const SettingValue live = LiveOf(change);
  const bool is_right = asked && live == *asked && !change.sets_address();
  if (IsUnknown(live) || (asked && WhyNot(change, *asked))) {
    return true;  // Blocked, if the spec names one.
  }
  if (HasDhcp(id)) {
    const std::string key = HccnConfKey(kDhcpKey, id);
    if (!asked || is_right) return false;
    return Blocks(change, Worded("plan-say-stores-no-gateway", key),
                  Worded("plan-say-take-out-dhcp", key));
  }
  if (MaySet(id)) return MayTake(change);
  const DeviceChange& keeper = *KeeperFor(id);
  if (!asked || is_right) return false;
  const bool is_served = live.has_none() || live == *asked;
  if (is_served && Asked(keeper) == asked) return false;
  return Blocks(change, Worded("plan-say-one-gateway", FourOf(id), keeper.id()),
                Worded("plan-say-name-one-gateway", FourOf(id)));
}

// The same for the one device that may have one. Also false if the spec names
// none and setting it would replace another device's.
bool GatewayPlanner::MayTake(const DeviceChange& change) {
  const uint32_t id = change.id();
  const auto asked = Asked(change);
  const SettingValue live = LiveOf(change);
  const TakenGateway taken = TakenBy(id);
  if (taken.entry == nullptr) return true;
  if (!asked ||
      (live == *asked && IsStored(id, live) && !change.sets_address())) {
    return false;
  }
  const uint32_t other = taken.entry->device();
  const DeviceFacts* const facts = FindDevice(plan_.facts(), other);
  Obstruction why;
  if (!Ipv4Address::Parse(taken.value).ok()) {
    why = Worded("plan-say-sets-none-while", FourOf(id));
  } else if (facts == nullptr || !IsKnown(facts->gateway())) {
    why = Worded("plan-say-takes-gateway", other);
  }
  if (!why) return true;
  const std::string line =
      absl::StrCat(HccnConfKey("gateway", other), "=", taken.value);
  return Blocks(change, Worded("about", line, *why),
                Worded("plan-say-correct-line"));
}

void GatewayPlanner::PlanOver(const DeviceChange& change,
                              const SettingValue& live,
                              const SettingValue& wanted,
                              const TakenGateway& taken) {
  const uint32_t other = taken.entry->device();
  PlanStep* step = devices_.PlanSet(
      row_, change.id(), live, wanted,
      {DeviceFact(other, SETTING_GATEWAY), ConfLineFact(other, "gateway")});
  *step->add_dropped() = *taken.entry;
  step->mutable_dropped(0)->set_value(taken.value);
  const std::string& has = FindDevice(plan_.facts(), other)->gateway().value();
  *step->mutable_consequences_said()->add_values() = Worded(
      has.empty() ? "plan-say-deletes-gateway" : "plan-say-loses-gateway",
      FourOf(change.id()),
      absl::StrCat(HccnConfKey("gateway", other), "=", taken.value), other,
      has);
}

// True if hccn.conf restores the device's own address, now or after the plan:
// the recovery at boot refuses a gateway without it.
bool GatewayPlanner::FileKeepsAddress(const DeviceChange& change) const {
  if (change.wanted) return true;  // A step ensures this.
  const auto in_file = Ipv4Interface::Parse(
      plan_.ConfValue(HccnConfKey("address", change.id())),
      plan_.ConfValue(HccnConfKey("netmask", change.id())));
  return in_file.ok() && change.live && *in_file == *change.live;
}

// Writes the live value, which the spec does not name, to the file.
void GatewayPlanner::Keep(const DeviceChange& change) {
  const SettingValue live = LiveOf(change);
  const auto address = AddressOf(live);
  if (address && change.live && change.live->subnet().Contains(*address) &&
      FileKeepsAddress(change)) {
    devices_.PlanRewrite(row_, change.id(), live,
                         {DeviceFact(change.id(), SETTING_ADDRESS),
                          ConfLineFact(change.id(), "address")});
  }
}

void GatewayPlanner::Plan(const DeviceChange& change) {
  if (!CanPlan(change)) return;
  const auto asked = Asked(change);
  if (!asked && !change.sets_address()) return Keep(change);
  const SettingValue live = LiveOf(change);
  if (IsUnknown(live)) {
    if (asked) devices_.BlockUnknown(row_, change, *asked);
    return;
  }
  const SettingValue wanted = asked.value_or(live);
  if (const Obstruction why = WhyNot(change, wanted)) {
    if (!asked) return;
    return devices_.Block(row_, change.id(), wanted, *why,
                          Worded("plan-say-correct-in-spec", Term(row_.words)));
  }
  const TakenGateway taken = TakenBy(change.id());
  if (taken.entry != nullptr) {
    PlanOver(change, live, wanted, taken);
  } else if (live == wanted && !change.sets_address()) {
    devices_.PlanRewrite(row_, change.id(), live);
  } else {
    devices_.PlanSet(row_, change.id(), live, wanted);
  }
}

}  // namespace clusterd
