#include <map>
#include <set>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "config/plan/hccn_conf_text.h"
#include "config/plan/step_planners.h"
#include "config/spec/product_profile.h"
#include "config/words/fact_text.h"

namespace clusterd {
namespace {

// "TLS switch off", "gateway 10.0.0.254".
FindingValue WhatWords(const DeviceSetting& setting,
                       const SettingValue& value) {
  return Worded(
      "plan-say-value",
      Term(setting.request == nullptr ? setting.words : setting.request),
      Term(SettingText(value)));
}

// With this key `-gateway -s` sets the gateway live, removes a stored one and
// stores none (recorded run x-gateway-set-udhcpc-stored).
constexpr char kDhcpKey[] = "udhcpc_enable";

const char* FourOf(uint32_t id) { return id < 4 ? "0-3" : "4-7"; }

// A line that hccn_tool deletes together with its device's live value.
struct TakenGateway {
  const HccnConf::Entry* entry = nullptr;  // nullptr: none.
  std::string value = {};                  // As a repair of the file leaves it.
};

// Plans any setting of any device of one host.
class DevicePlanner {
 public:
  // All must outlive it. Chooses who keeps a gateway that some devices share
  // (ProductProfile): they have one routing table, so that setting one device's
  // gateway deletes another's.
  DevicePlanner(const ClusterSpec& spec,
                const std::vector<DeviceChange>& changes, HostPlanBuilder* plan)
      : spec_(spec), plan_(*plan) {
    const auto profile = FindProductProfile(spec.product(), spec.mode());
    if (profile.ok()) profile_ = **profile;
    for (const DeviceChange& change : changes) ChooseKeeper(change);
  }

  // Plans the spec's value; nothing if the spec has none.
  void PlanAsked(const DeviceSetting& setting, const DeviceChange& change) {
    PlanUnless(std::nullopt, setting, change);
  }

  void PlanAddress(const DeviceSetting& setting, const DeviceChange& change) {
    if (!change.wanted) return;
    const uint32_t id = change.id();
    const SettingValue wanted = InterfaceValue(*change.wanted);
    if (!change.sets_address()) return PlanRewrite(setting, id, wanted);
    PlanStep* step = PlanSet(
        setting, id, change.live ? InterfaceValue(*change.live) : NoneValue(),
        wanted, {ConfLineFact(id, "gateway"), RoutesFact(id)});
    AddDropped(change, MaySetGateway(id), plan_, step);
  }

  void PlanDetect(const DeviceSetting& setting, const DeviceChange& change) {
    if (const auto asked = setting.Wanted(spec_, *change.spec)) {
      const auto address = AddressOf(*asked);
      const bool may_answer =
          address && !address->IsUnset() && !address->IsMulticast();
      return PlanUnless(
          may_answer ? Obstruction() : Worded("plan-say-cannot-answer"),
          setting, change);
    }
    // Writes the live value, which the spec does not name, to the file.
    const SettingValue live = LiveOf(setting, change);
    const auto address = AddressOf(live);
    if (address && !WhyUnassigned(spec_, *address)) {
      PlanRewrite(setting, change.id(), live);
    }
  }

  // Without a certificate a switch is off, and no other value is possible.
  void PlanTls(const DeviceSetting& setting, const DeviceChange& change) {
    const auto asked = setting.Wanted(spec_, *change.spec);
    const SettingValue live = LiveOf(setting, change);
    if (IsUnknown(live) || !change.facts->tls().value().no_certificate()) {
      PlanAsked(setting, change);
    } else if (asked && live != *asked) {
      Block(setting, change.id(), *asked, Worded("plan-say-no-certificate"),
            Worded("plan-say-give-certificates"));
    }
  }

  void PlanPfc(const DeviceSetting& setting, const DeviceChange& change) {
    const auto asked = setting.Wanted(spec_, *change.spec);
    const auto most = MostPausing(profile_);
    const bool too_many =
        asked && absl::c_count(asked->numbers().numbers(), 1u) > most;
    PlanUnless(too_many ? Worded("plan-say-priorities", most) : Obstruction(),
               setting, change);
  }

  void PlanGateway(const DeviceSetting& setting, const DeviceChange& change) {
    if (!CanPlanGateway(change)) return;
    const auto asked = AskedGateway(change);
    if (!asked && !change.sets_address()) return KeepGateway(change);
    const SettingValue live = LiveOf(setting, change);
    const SettingValue wanted = asked.value_or(live);
    const Obstruction why = WhyNoGateway(change, wanted);
    if (why || IsUnknown(live)) return PlanUnless(why, setting, change);
    const TakenGateway taken = TakenBy(change.id());
    if (taken.entry != nullptr) {
      PlanGatewayOver(change, live, wanted, taken);
    } else if (live == wanted && !change.sets_address()) {
      PlanRewrite(setting, change.id(), live);
    } else {
      PlanSet(setting, change.id(), live, wanted);
    }
  }

 private:
  // Unknown for a device without facts.
  static SettingValue LiveOf(const DeviceSetting& setting,
                             const DeviceChange& change) {
    return change.facts == nullptr ? SettingValue()
                                   : setting.Live(*change.facts);
  }

  // The same; blocks a value that `why` says would not work.
  void PlanUnless(Obstruction why, const DeviceSetting& setting,
                  const DeviceChange& change) {
    const uint32_t id = change.id();
    const auto asked = setting.Wanted(spec_, *change.spec);
    if (!asked) return;
    const SettingValue live = LiveOf(setting, change);
    if (IsUnknown(live)) return BlockUnknown(setting, change, *asked);
    if (const Obstruction no_map = WhyNoMap(setting, id)) {
      return Block(setting, id, *asked, *no_map,
                   Worded("plan-say-correct-line"));
    }
    if (!setting.always_saved && live != *asked && !setting.is_legal(live)) {
      return Block(setting, id, *asked,
                   Worded("plan-say-not-put-back", Term(setting.words),
                          SettingText(live)),
                   Worded("plan-say-set-on-device"));
    }
    if (!why && !setting.is_legal(*asked)) {
      why = Worded("plan-say-asks-a-question", Term(setting.words));
    }
    if (why) {
      Block(setting, id, *asked, *why,
            Worded("plan-say-correct-in-spec", Term(setting.words)));
    } else if (live == *asked) {
      PlanRewrite(setting, id, live);
    } else {
      PlanSet(setting, id, live, *asked);
    }
  }

  // Sets the value.
  PlanStep* PlanSet(const DeviceSetting& setting, uint32_t device,
                    const SettingValue& from, const SettingValue& to,
                    std::vector<FactKey> rests_on = {}) {
    PlanStep* step = AddStep(setting, device, from, to, std::move(rests_on));
    if (from.has_none()) {
      AddConsequence(Worded("plan-say-no-clear", Term(setting.words)), step);
    }
    return step;
  }

  // The live value is right: sets it again if the file differs.
  void PlanRewrite(const DeviceSetting& setting, uint32_t device,
                   const SettingValue& live,
                   std::vector<FactKey> rests_on = {}) {
    std::vector<std::string> stored;
    bool is_so = true;
    for (const ConfLine& line : ConfLinesOf(setting, live)) {
      stored.push_back(
          StoredText(setting, plan_.ConfValue(HccnConfKey(line.key, device))));
      is_so &= stored.back() == line.text;
    }
    if (is_so) return;
    AddStep(setting, device, ParseSetting(setting, std::move(stored)), live,
            std::move(rests_on))
        ->set_kind(CHANGE_HCCN_CONF);
  }

  void Block(const DeviceSetting& setting, uint32_t device,
             const SettingValue& asked, const FindingValue& why,
             const FindingValue& fix) {
    plan_.Block(setting.kind, {device}, WhatWords(setting, asked), why, fix);
  }

  // Blocks the request because the live value is not known.
  void BlockUnknown(const DeviceSetting& setting, const DeviceChange& change,
                    const SettingValue& asked) {
    const bool is_tls = setting.id == SETTING_TLS;
    FindingValue why = Worded("plan-say-nothing-about-device");
    if (change.facts != nullptr) {
      const FindingValue missing =
          MissingWords(setting.Read(*change.facts).missing);
      why = is_tls ? Worded("plan-say-switch-not-known", missing)
                   : Worded("plan-say-live-not-known", Term(setting.words),
                            missing);
    }
    Block(setting, change.id(), asked, why,
          Worded(is_tls ? "plan-say-remove-reason" : "plan-say-ask-the-tool"));
  }

  // Why no command can correct hccn.conf's value of a map.
  Obstruction WhyNoMap(const DeviceSetting& setting, uint32_t device) const {
    if (!setting.is_map()) return std::nullopt;
    const std::string key = HccnConfKey(setting.conf_keys[0], device);
    const std::string text = plan_.ConfValue(key);
    if (setting.is_legal(ParseSetting(setting, {StoredText(setting, text)}))) {
      return std::nullopt;
    }
    return Worded("plan-say-not-such-a-map", absl::StrCat(key, "=", text));
  }

  PlanStep* AddStep(const DeviceSetting& setting, uint32_t device,
                    const SettingValue& from, const SettingValue& to,
                    std::vector<FactKey> rests_on) {
    const FactKey goal = DeviceFact(device, setting.id);
    rests_on.push_back(goal);
    for (const char* const key : setting.conf_keys) {
      rests_on.push_back(ConfLineFact(device, key));
    }
    return plan_.AddStep(goal, from, to, std::move(rests_on));
  }

  // True if `-gateway -s` gives the device a gateway that lasts.
  bool MaySetGateway(uint32_t device) const {
    const DeviceChange* const keeper = KeeperFor(device);
    return !HasDhcp(device) && (keeper == nullptr || keeper->id() == device);
  }

  static constexpr int kNoKeeper = 3;

  std::optional<SettingValue> AskedGateway(const DeviceChange& change) const {
    return gateway_.Wanted(spec_, *change.spec);
  }

  // Why a device with this change cannot use the gateway.
  Obstruction WhyNoGateway(const DeviceChange& change,
                           const SettingValue& gateway) const {
    const auto address = AddressOf(gateway);
    const auto& own = change.wanted ? change.wanted : change.live;
    if (address && own && own->subnet().Contains(*address)) return std::nullopt;
    return Worded("plan-say-outside-subnet");
  }

  bool HasDhcp(uint32_t device) const {
    return plan_.HasConfLine(HccnConfKey(kDhcpKey, device));
  }

  // The gateway that another device loses when this one's is set: of the
  // devices that share one, the stored line of the lowest id (recorded runs
  // x-A1-gateway).
  TakenGateway TakenBy(uint32_t device) const {
    TakenGateway taken;
    for (const HccnConf::Entry& entry :
         plan_.facts().hccn_conf().value().entries()) {
      if (entry.key() != "gateway" || !entry.has_device() ||
          !ShareGateway(profile_, entry.device(), device)) {
        continue;
      }
      if (taken.entry == nullptr || entry.device() < taken.entry->device()) {
        taken = {&entry, RepairedEntry(entry).value()};
      }
    }
    const bool is_own =
        taken.entry != nullptr && taken.entry->device() == device;
    return is_own ? TakenGateway() : taken;
  }

  int KeeperRank(const DeviceChange& change) const {
    const SettingValue live = LiveOf(gateway_, change);
    const auto asked = AskedGateway(change);
    if (IsUnknown(live) || HasDhcp(change.id())) return kNoKeeper;
    if (!asked) return live.has_none() ? kNoKeeper : 2;
    if (WhyNoGateway(change, *asked)) return kNoKeeper;
    return live == *asked ? 0 : 1;
  }

  // Chooses among the devices that share a gateway: first one that has the
  // spec's gateway, then one that could get it, then one that has any; among
  // equals the lowest. So no step removes what another one sets.
  void ChooseKeeper(const DeviceChange& change) {
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

  // The device that gets or keeps the gateway among those that share it;
  // nullptr: none has, or could get, one.
  const DeviceChange* KeeperFor(uint32_t device) const {
    for (const auto& [id, keeper] : keepers_) {
      if (ShareGateway(profile_, id, device)) return &keeper;
    }
    return nullptr;
  }

  // Blocks the spec's gateway; false.
  bool BlocksGateway(const DeviceChange& change, const FindingValue& why,
                     const FindingValue& fix) {
    Block(gateway_, change.id(), AskedGateway(change).value_or(NoneValue()),
          why, fix);
    return false;
  }

  // True if a step could change the device's gateway. Blocks what the spec
  // requests but no step can do.
  bool CanPlanGateway(const DeviceChange& change) {
    const uint32_t id = change.id();
    const auto asked = AskedGateway(change);
    const SettingValue live = LiveOf(gateway_, change);
    const bool is_right = asked && live == *asked && !change.sets_address();
    if (IsUnknown(live) || (asked && WhyNoGateway(change, *asked))) {
      return true;  // Blocked, if the spec names one.
    }
    if (HasDhcp(id)) {
      const std::string key = HccnConfKey(kDhcpKey, id);
      if (!asked || is_right) return false;
      return BlocksGateway(change, Worded("plan-say-stores-no-gateway", key),
                           Worded("plan-say-take-out-dhcp", key));
    }
    if (MaySetGateway(id)) return MayTakeGateway(change);
    const DeviceChange& keeper = *KeeperFor(id);
    if (!asked || is_right) return false;
    const bool is_served = live.has_none() || live == *asked;
    if (is_served && AskedGateway(keeper) == asked) return false;
    return BlocksGateway(
        change, Worded("plan-say-one-gateway", FourOf(id), keeper.id()),
        Worded("plan-say-name-one-gateway", FourOf(id)));
  }

  // The same for the one device that may have one. Also false if the spec names
  // none and setting it would replace another device's.
  bool MayTakeGateway(const DeviceChange& change) {
    const uint32_t id = change.id();
    const auto asked = AskedGateway(change);
    const SettingValue live = LiveOf(gateway_, change);
    const TakenGateway taken = TakenBy(id);
    if (taken.entry == nullptr) return true;
    const std::string stored = plan_.ConfValue(HccnConfKey("gateway", id));
    const bool is_so = live == asked && !change.sets_address() &&
                       ParseSetting(gateway_, {stored}) == live;
    if (!asked || is_so) return false;
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
    return BlocksGateway(change, Worded("about", line, *why),
                         Worded("plan-say-correct-line"));
  }

  void PlanGatewayOver(const DeviceChange& change, const SettingValue& live,
                       const SettingValue& wanted, const TakenGateway& taken) {
    const uint32_t other = taken.entry->device();
    PlanStep* step = PlanSet(
        gateway_, change.id(), live, wanted,
        {DeviceFact(other, SETTING_GATEWAY), ConfLineFact(other, "gateway")});
    *step->add_dropped() = *taken.entry;
    step->mutable_dropped(0)->set_value(taken.value);
    const std::string& has =
        FindDevice(plan_.facts(), other)->gateway().value();
    AddConsequence(
        Worded(
            has.empty() ? "plan-say-deletes-gateway" : "plan-say-loses-gateway",
            FourOf(change.id()),
            absl::StrCat(HccnConfKey("gateway", other), "=", taken.value),
            other, has),
        step);
  }

  // Writes the live value, which the spec does not name, to the file. The
  // recovery at boot refuses it unless hccn.conf restores the device's own
  // address, too, now or after the plan.
  void KeepGateway(const DeviceChange& change) {
    const uint32_t id = change.id();
    const SettingValue live = LiveOf(gateway_, change);
    const auto address = AddressOf(live);
    if (!address || !change.live || !change.live->subnet().Contains(*address)) {
      return;
    }
    const auto in_file =
        Ipv4Interface::Parse(plan_.ConfValue(HccnConfKey("address", id)),
                             plan_.ConfValue(HccnConfKey("netmask", id)));
    // A step ensures an address of the spec.
    if (!change.wanted && !(in_file.ok() && *in_file == *change.live)) return;
    PlanRewrite(gateway_, id, live,
                {DeviceFact(id, SETTING_ADDRESS), ConfLineFact(id, "address")});
  }

  const ClusterSpec& spec_;
  HostPlanBuilder& plan_;
  const DeviceSetting& gateway_ = DeviceSettingOf(SETTING_GATEWAY);
  ProductProfile profile_;
  // The devices that keep a shared gateway, by their ids.
  std::map<uint32_t, DeviceChange> keepers_;
};

constexpr struct {
  SettingId id;
  void (DevicePlanner::*plan)(const DeviceSetting&, const DeviceChange&);
} kPlanners[] = {
    {SETTING_ADDRESS, &DevicePlanner::PlanAddress},
    {SETTING_GATEWAY, &DevicePlanner::PlanGateway},
    {SETTING_DETECT_ADDRESS, &DevicePlanner::PlanDetect},
    {SETTING_MTU, &DevicePlanner::PlanAsked},
    {SETTING_TLS, &DevicePlanner::PlanTls},
    {SETTING_PFC, &DevicePlanner::PlanPfc},
    {SETTING_ROCE_PORT, &DevicePlanner::PlanAsked},
    {SETTING_DSCP_TO_TC, &DevicePlanner::PlanAsked},
};
static_assert(HasRowForEach(kDeviceSettingIds, kPlanners),
              "a setting without its planner");

// True if the spec has no use for the setting.
bool IsUnused(const ClusterSpec& spec, const DeviceSetting& setting) {
  return spec.roce_unused() && !setting.without_roce;
}

// Why hccn_tool cannot be used for changes on this host.
Obstruction WhyNoSetCommands(const HostFacts& facts) {
  if (!IsKnown(facts.hccn_tool().path())) {
    return Worded("about", "hccn_tool", UnknownWords(facts.hccn_tool().path()));
  }
  if (facts.hccn_tool().generation() == NpuToolFacts::ASCEND_950) {
    return Worded("plan-say-set-commands-unknown");
  }
  if (!IsKnown(facts.hccn_conf())) {
    return Worded("about", "/etc/hccn.conf", UnknownWords(facts.hccn_conf()));
  }
  return WhyConfStops(facts.hccn_conf().value());
}

// Blocks everything that the spec requests of devices.
void BlockAll(const ClusterSpec& spec, const ServerSpec& server,
              const FindingValue& why, HostPlanBuilder* plan) {
  // The request of each kind: settings of one kind are one change.
  std::map<ChangeKind, std::pair<FindingValue, std::set<uint32_t>>> asked;
  for (const DeviceSetting& setting : DeviceSettings()) {
    if (IsUnused(spec, setting)) continue;
    for (const DeviceSpec& device : server.devices()) {
      const auto wanted = setting.Wanted(spec, device);
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

// Plans settings that the tool may change with the device's address right after
// it, then the others, setting by setting.
void PlanDeviceSteps(const ClusterSpec& spec, const ServerSpec& server,
                     HostPlanBuilder* plan) {
  const Obstruction why = WhyNoSetCommands(plan->facts());
  if (why) return BlockAll(spec, server, *why, plan);
  std::vector<DeviceChange> changes;
  if (!spec.roce_unused()) changes = OrderedChanges(spec, server, plan);
  DevicePlanner planner(spec, changes, plan);
  for (const DeviceChange& change : changes) {
    for (const auto& [id, plan_it] : kPlanners) {
      const DeviceSetting& setting = DeviceSettingOf(id);
      if (setting.always_saved) (planner.*plan_it)(setting, change);
    }
  }
  for (const auto& [id, plan_it] : kPlanners) {
    const DeviceSetting& setting = DeviceSettingOf(id);
    if (setting.always_saved || IsUnused(spec, setting)) continue;
    for (const DeviceSpec& device : server.devices()) {
      (planner.*plan_it)(setting,
                         {&device, FindDevice(plan->facts(), device.id())});
    }
  }
}

}  // namespace clusterd
