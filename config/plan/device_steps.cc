
#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "config/plan/hccn_conf_text.h"
#include "config/plan/setting_rows.h"
#include "config/plan/step_planners.h"
#include "config/values/text_form.h"

namespace clusterd {
namespace {

// With this key `-gateway -s` sets the gateway live, removes a stored one and
// stores none (recorded run x-gateway-set-udhcpc-stored).
constexpr char kDhcpKey[] = "udhcpc_enable";

std::string ValueOf(const Ipv4Interface& interface) {
  return absl::StrCat(interface.address().ToString(), "/",
                      interface.subnet().netmask().ToString());
}

// The gateway of a gateway, route or ip_route entry.
std::optional<Ipv4Address> GatewayOf(const HccnConf::Entry& entry) {
  static const LazyRE2 kRoute = {"(?s)gateway_(.*)"};
  static const LazyRE2 kIpRoute = {"(?s).*? via ([^ ]*).*"};
  absl::string_view value = entry.value();
  const RE2& form = entry.key() == "ip_route" ? *kIpRoute : *kRoute;
  if (IsRouteKey(entry.key()) && !HasForm(value, form, &value)) {
    return std::nullopt;
  }
  const absl::StatusOr<Ipv4Address> address = Ipv4Address::Parse(value);
  return address.ok() ? std::make_optional(*address) : std::nullopt;
}

bool Is(const DeviceSetting& setting, absl::string_view name) {
  return setting.name == name;
}

// "TLS switch off", "gateway 10.0.0.254".
FindingValue WhatWords(const DeviceSetting& setting, absl::string_view wanted) {
  return Worded("plan-say-value",
                Term(Is(setting, kTlsSetting) ? "TLS switch" : setting.words),
                Term(wanted));
}

// A device whose RoCE port is unused needs only the TLS switch.
bool IsUnused(const ClusterSpec& spec, const DeviceSetting& setting) {
  return spec.roce_unused() && !Is(setting, kTlsSetting);
}

class DevicePlanner {
 public:
  DevicePlanner(const ClusterSpec& spec, HostPlanBuilder* plan)
      : spec_(spec), plan_(*plan) {
    const auto profile = FindProductProfile(spec.product(), spec.mode());
    if (profile.ok()) profile_ = **profile;
  }

  // Plans settings that the tool may change with the device's address right
  // after it, then the others, setting by setting.
  void Plan(const ServerSpec& server) {
    std::vector<DeviceChange> changes;
    if (!spec_.roce_unused()) changes = OrderedChanges(spec_, server, &plan_);
    for (const DeviceChange& change : changes) ChooseKeeper(change);
    for (const DeviceChange& change : changes) {
      PlanAddress(change);
      for (const DeviceSetting& setting : DeviceSettings()) {
        if (!setting.always_saved || Is(setting, kAddressSetting)) continue;
        PlanSetting(setting, change);
      }
    }
    for (const DeviceSetting& setting : DeviceSettings()) {
      if (setting.always_saved || IsUnused(spec_, setting)) continue;
      for (const DeviceSpec& device : server.devices()) {
        PlanSetting(setting, {&device, FindDevice(plan_.facts(), device.id())});
      }
    }
  }

 private:
  void AddDropped(const DeviceChange& change, PlanStep* step) {
    const uint32_t id = change.spec->id();
    const Ipv4Subnet subnet = change.wanted->subnet();
    const bool sets_gateway =
        !change.spec->gateway().empty() && MaySetGateway(id);
    bool had_gateway = false;
    for (const HccnConf::Entry& as_it_is :
         plan_.facts().hccn_conf().value().entries()) {
      if (!as_it_is.has_device() || as_it_is.device() != id) continue;
      // The file is repaired before the tool reads it.
      const HccnConf::Entry entry = RepairedEntry(as_it_is);
      const bool is_gateway = entry.key() == "gateway";
      if (is_gateway ? had_gateway : !IsRouteKey(entry.key())) continue;
      had_gateway |= is_gateway;
      const std::optional<Ipv4Address> through = GatewayOf(entry);
      if (through && subnet.Contains(*through)) continue;
      *step->add_dropped() = entry;
      if (is_gateway && sets_gateway) continue;
      *step->mutable_consequences_said()->add_values() =
          Worded("plan-say-tool-deletes",
                 absl::StrCat(HccnConfKey(entry.key(), id), "=", entry.value()),
                 subnet.ToString());
    }
    const std::string& gateway = change.facts->gateway().value();
    const auto live = Ipv4Address::Parse(gateway);
    const bool is_stored = !plan_.ConfValue(HccnConfKey("gateway", id)).empty();
    if (!sets_gateway && live.ok() && !subnet.Contains(*live) && !is_stored) {
      *step->mutable_consequences_said()->add_values() =
          Worded("plan-say-gateway-lost", gateway, subnet.ToString());
    } else if (!MaySetGateway(id) && live.ok() && !is_stored) {
      *step->mutable_consequences_said()->add_values() =
          Worded("plan-say-gateway-may-go", gateway);
    }
    if (change.live) {
      *step->mutable_consequences_said()->add_values() =
          Worded("plan-say-unseen-routes");
    }
  }

  void PlanAddress(const DeviceChange& change) {
    if (!change.wanted) return;
    const uint32_t id = change.spec->id();
    const DeviceSetting& address = *FindSetting(kAddressSetting)->device;
    const std::string wanted = ValueOf(*change.wanted);
    if (!change.sets_address()) return PlanRewrite(address, id, wanted);
    PlanStep* step = PlanSet(
        address, id, change.live ? ValueOf(*change.live) : kNoneFact, wanted,
        {HccnConfFactName("gateway", id), HccnConfFactName("routes", id)});
    AddDropped(change, step);
  }

  static std::string LiveOf(const DeviceSetting& setting,
                            const DeviceChange& change) {
    return change.facts == nullptr ? kUnknownFact
                                   : setting.live(*change.facts).value;
  }

  // Why the wanted value would not work.
  Obstruction WhyNot(const DeviceSetting& setting, const DeviceChange& change,
                     const std::string& wanted) const {
    const auto parsed = Ipv4Address::Parse(wanted);
    if (Is(setting, kGatewaySetting)) {
      const auto& own = change.wanted ? change.wanted : change.live;
      if (parsed.ok() && own && own->subnet().Contains(*parsed)) return {};
      return Worded("plan-say-outside-subnet");
    }
    if (Is(setting, kDetectSetting) &&
        (!parsed.ok() || parsed->IsUnset() || parsed->IsMulticast())) {
      return Worded("plan-say-cannot-answer");
    }
    if (Is(setting, kPfcSetting) &&
        absl::c_count(wanted, '1') > MostPausing(profile_)) {
      return Worded("plan-say-priorities", MostPausing(profile_));
    }
    if (setting.is_legal(wanted)) return {};
    return Worded("plan-say-asks-a-question", Term(setting.words));
  }

  bool HasDhcp(uint32_t device) const {
    return plan_.HasConfLine(HccnConfKey(kDhcpKey, device));
  }

  // The device that gets or keeps the gateway among those that share it;
  // nullptr: none has, or could get, one.
  const DeviceChange* KeeperFor(uint32_t device) const {
    for (const auto& [id, keeper] : keepers_) {
      if (ShareGateway(profile_, id, device)) return &keeper;
    }
    return nullptr;
  }

  // Chooses among the devices that share a gateway: first one that has the
  // spec's gateway, then one that could get it, then one that has any; among
  // equals the lowest. So no step removes what another one sets.
  void ChooseKeeper(const DeviceChange& change) {
    if (KeeperRank(change) == kNoKeeper) return;
    const DeviceChange* const keeper = KeeperFor(change.spec->id());
    if (keeper != nullptr) {
      const auto rank = [this](const DeviceChange& each) {
        return std::make_pair(KeeperRank(each), each.spec->id());
      };
      if (rank(*keeper) < rank(change)) return;
      keepers_.erase(keeper->spec->id());
    }
    keepers_.emplace(change.spec->id(), change);
  }

  static constexpr int kNoKeeper = 3;
  int KeeperRank(const DeviceChange& change) const {
    const DeviceSetting& gateway = *FindSetting(kGatewaySetting)->device;
    const std::string& asked = change.spec->gateway();
    const std::string live = LiveOf(gateway, change);
    if (live == kUnknownFact || HasDhcp(change.spec->id())) return kNoKeeper;
    if (asked.empty()) return live == kNoneFact ? kNoKeeper : 2;
    if (WhyNot(gateway, change, asked)) return kNoKeeper;
    return live == asked ? 0 : 1;
  }

  // True if `-gateway -s` gives the device a gateway that lasts.
  bool MaySetGateway(uint32_t device) const {
    const DeviceChange* const keeper = KeeperFor(device);
    return !HasDhcp(device) &&
           (keeper == nullptr || keeper->spec->id() == device);
  }

  // True if a step could change the device's gateway. Blocks what the spec
  // requests but no step can do.
  bool PlansGateway(const DeviceSetting& setting, const DeviceChange& change) {
    const uint32_t id = change.spec->id();
    const std::string& asked = change.spec->gateway();
    const std::string live = LiveOf(setting, change);
    const auto block = [&](const FindingValue& why, const FindingValue& fix) {
      plan_.Block(setting.kind, {id}, WhatWords(setting, asked), why, fix);
      return false;
    };
    const bool is_right = live == asked && !change.sets_address();
    if (live == kUnknownFact ||
        (!asked.empty() && WhyNot(setting, change, asked))) {
      return true;  // Blocked, if the spec names one.
    }
    if (HasDhcp(id)) {
      const std::string key = HccnConfKey(kDhcpKey, id);
      if (asked.empty() || is_right) return false;
      return block(Worded("plan-say-stores-no-gateway", key),
                   Worded("plan-say-take-out-dhcp", key));
    }
    if (MaySetGateway(id)) return SurvivesAddressChange(setting, change);
    const DeviceChange& keeper = *KeeperFor(id);
    const std::string& kept = keeper.spec->gateway();
    const bool is_served = live == kNoneFact || live == asked;
    if (asked.empty() || is_right || (asked == kept && is_served)) return false;
    return block(Worded("plan-say-one-gateway", FourOf(id), keeper.spec->id()),
                 Worded("plan-say-name-one-gateway", FourOf(id)));
  }

  static const char* FourOf(uint32_t id) { return id < 4 ? "0-3" : "4-7"; }

  // The same for the one device that may have one. Also false if the spec names
  // none and setting it would replace another device's.
  bool SurvivesAddressChange(const DeviceSetting& setting,
                             const DeviceChange& change) {
    const uint32_t id = change.spec->id();
    const std::string& asked = change.spec->gateway();
    const std::string live = LiveOf(setting, change);
    const TakenGateway taken = TakenBy(profile_, plan_.facts(), id);
    if (taken.entry == nullptr) return true;
    const bool is_stored = plan_.ConfValue(HccnConfKey("gateway", id)) == live;
    if (asked.empty() ||
        (live == asked && is_stored && !change.sets_address())) {
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
    plan_.Block(setting.kind, {id}, WhatWords(setting, asked),
                Worded("about", line, *why), Worded("plan-say-correct-line"));
    return false;
  }

  void PlanGatewayOver(const DeviceSetting& setting, uint32_t device,
                       const std::string& live, const std::string& wanted,
                       const TakenGateway& taken) {
    const uint32_t other = taken.entry->device();
    PlanStep* step = PlanSet(setting, device, live, wanted,
                             {DeviceFactName(other, kGatewaySetting),
                              HccnConfFactName("gateway", other)});
    *step->add_dropped() = *taken.entry;
    step->mutable_dropped(0)->set_value(taken.value);
    const std::string& has =
        FindDevice(plan_.facts(), other)->gateway().value();
    *step->mutable_consequences_said()->add_values() = Worded(
        has.empty() ? "plan-say-deletes-gateway" : "plan-say-loses-gateway",
        FourOf(device),
        absl::StrCat(HccnConfKey("gateway", other), "=", taken.value), other,
        has);
  }

  void BlockUnknown(const DeviceSetting& setting, const DeviceChange& change,
                    const std::string& wanted) {
    const bool is_tls = Is(setting, kTlsSetting);
    FindingValue why = Worded("plan-say-nothing-about-device");
    if (change.facts != nullptr) {
      const FindingValue missing =
          MissingWords(setting.live(*change.facts).missing);
      why = is_tls ? Worded("plan-say-switch-not-known", missing)
                   : Worded("plan-say-live-not-known", Term(setting.words),
                            missing);
    }
    plan_.Block(
        setting.kind, {change.spec->id()}, WhatWords(setting, wanted), why,
        Worded(is_tls ? "plan-say-remove-reason" : "plan-say-ask-the-tool"));
  }

  // A TLS switch without a certificate is off; blocks any other value.
  void PlanNoCertificate(const DeviceSetting& setting,
                         const DeviceChange& change,
                         const std::string& wanted) {
    if (wanted == LiveOf(setting, change)) return;
    plan_.Block(setting.kind, {change.spec->id()}, WhatWords(setting, wanted),
                Worded("plan-say-no-certificate"),
                Worded("plan-say-give-certificates"));
  }

  void PlanSetting(const DeviceSetting& setting, const DeviceChange& change) {
    const uint32_t id = change.spec->id();
    const bool may_be_dropped =
        Is(setting, kGatewaySetting) && change.sets_address();
    if (Is(setting, kGatewaySetting) && !PlansGateway(setting, change)) return;
    const auto asked = setting.wanted(spec_, *change.spec);
    if (!asked && !may_be_dropped) return Keep(setting, change);
    const std::string live = LiveOf(setting, change);
    if (live == kUnknownFact) {
      if (asked) BlockUnknown(setting, change, *asked);
      return;
    }
    const std::string wanted = asked.value_or(live);
    if (Is(setting, kTlsSetting) &&
        change.facts->tls().value().no_certificate()) {
      return PlanNoCertificate(setting, change, wanted);
    }
    if (const Obstruction no_map = WhyNoMap(setting, id, plan_)) {
      return plan_.Block(setting.kind, {id}, WhatWords(setting, wanted),
                         *no_map, Worded("plan-say-correct-line"));
    }
    if (!setting.always_saved && live != wanted && !setting.is_legal(live)) {
      return plan_.Block(
          setting.kind, {id}, WhatWords(setting, wanted),
          Worded("plan-say-not-put-back", Term(setting.words), live),
          Worded("plan-say-set-on-device"));
    }
    const Obstruction why = WhyNot(setting, change, wanted);
    const TakenGateway taken = Is(setting, kGatewaySetting)
                                   ? TakenBy(profile_, plan_.facts(), id)
                                   : TakenGateway();
    if (!why && taken.entry != nullptr) {
      PlanGatewayOver(setting, id, live, wanted, taken);
    } else if (!why && live == wanted && !may_be_dropped) {
      PlanRewrite(setting, id, live);
    } else if (!why) {
      PlanSet(setting, id, live, wanted);
    } else if (asked) {
      plan_.Block(setting.kind, {id}, WhatWords(setting, wanted), *why,
                  Worded("plan-say-correct-in-spec", Term(setting.words)));
    }
  }

  // True if hccn.conf restores the device's own address, now or after the plan:
  // the recovery at boot refuses a gateway without it.
  bool FileKeepsAddress(const DeviceChange& change) const {
    if (change.wanted) return true;  // A step ensures this.
    const uint32_t id = change.spec->id();
    const auto in_file =
        Ipv4Interface::Parse(plan_.ConfValue(HccnConfKey("address", id)),
                             plan_.ConfValue(HccnConfKey("netmask", id)));
    return in_file.ok() && change.live && *in_file == *change.live;
  }

  // Writes the live value, which the spec does not name, to the file.
  void Keep(const DeviceSetting& setting, const DeviceChange& change) {
    const uint32_t id = change.spec->id();
    const std::string live = LiveOf(setting, change);
    const auto address = Ipv4Address::Parse(live);
    if (!address.ok()) return;
    if (Is(setting, kDetectSetting) && !WhyUnassigned(spec_, *address)) {
      return PlanRewrite(setting, id, live);
    }
    if (Is(setting, kGatewaySetting) && change.live &&
        change.live->subnet().Contains(*address) && FileKeepsAddress(change)) {
      PlanRewrite(setting, id, live,
                  {DeviceFactName(id, kAddressSetting),
                   HccnConfFactName("address", id)});
    }
  }

  PlanStep* AddStep(const DeviceSetting& setting, uint32_t device,
                    const std::string& from, const std::string& to,
                    std::vector<std::string> rests_on) {
    rests_on.push_back(DeviceFactName(device, setting.name));
    for (const ConfLine& line : ConfLinesOf(setting, device, to)) {
      rests_on.push_back(absl::StrCat("hccn.conf: ", line.key));
    }
    PlanStep* step = plan_.AddStep(setting.name, from, to, std::move(rests_on));
    step->mutable_target()->set_device(device);
    return step;
  }

  // The live value is right; the file may differ.
  void PlanRewrite(const DeviceSetting& setting, uint32_t device,
                   const std::string& live,
                   std::vector<std::string> rests_on = {}) {
    std::string from = absl::StrJoin(
        ConfLinesOf(setting, device, live), "/",
        [&](std::string* out, const ConfLine& line) {
          absl::StrAppend(out, StoredPart(setting, plan_.ConfValue(line.key)));
        });
    if (from.empty() || from[0] == '/') from = kNoneFact;
    if (from == ConfSpelling(setting, live)) return;
    PlanStep* step = AddStep(setting, device, from, live, std::move(rests_on));
    step->set_kind(CHANGE_HCCN_CONF);
  }

  PlanStep* PlanSet(const DeviceSetting& setting, uint32_t device,
                    const std::string& from, const std::string& to,
                    std::vector<std::string> rests_on = {}) {
    PlanStep* step = AddStep(setting, device, from, to, std::move(rests_on));
    if (from == kNoneFact) {
      *step->mutable_consequences_said()->add_values() =
          Worded("plan-say-no-clear", Term(setting.words));
    }
    return step;
  }

  const ClusterSpec& spec_;
  HostPlanBuilder& plan_;
  ProductProfile profile_;
  // Keyed by device id.
  std::map<uint32_t, DeviceChange> keepers_;
};

// Blocks everything that the spec requests of devices.
void BlockAll(const ClusterSpec& spec, const ServerSpec& server,
              const FindingValue& why, HostPlanBuilder* plan) {
  // The request of each kind: settings of one kind are one change.
  std::map<ChangeKind, std::pair<FindingValue, std::set<uint32_t>>> asked;
  for (const DeviceSetting& setting : DeviceSettings()) {
    if (IsUnused(spec, setting)) continue;
    for (const DeviceSpec& device : server.devices()) {
      const auto wanted = setting.wanted(spec, device);
      if (!wanted) continue;
      auto& [what, ids] = asked[setting.kind];
      what = setting.kind == CHANGE_DEVICE_ADDRESS
                 ? Worded("plan-say-device-addresses")
                 : WhatWords(setting, *wanted);
      ids.insert(device.id());
    }
  }
  for (const auto& [kind, change] : asked) {
    const auto& [what, ids] = change;
    plan->Block(kind, {ids.begin(), ids.end()}, what, why,
                Worded("plan-say-repair-by-hand"));
  }
}

}  // namespace

void PlanDeviceSteps(const ClusterSpec& spec, const ServerSpec& server,
                     HostPlanBuilder* plan) {
  const Obstruction why = WhyNoSetCommands(plan->facts());
  if (why) return BlockAll(spec, server, *why, plan);
  DevicePlanner(spec, plan).Plan(server);
}

}  // namespace clusterd
