#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "config/plan/device_planner.h"
#include "config/plan/hccn_conf_text.h"
#include "config/values/text_form.h"
#include "config/words/fact_text.h"

namespace clusterd {

FindingValue WhatWords(const DeviceSetting& setting,
                       const SettingValue& value) {
  return Worded(
      "plan-say-value",
      Term(setting.request == nullptr ? setting.words : setting.request),
      Term(SettingText(value)));
}

DevicePlanner::DevicePlanner(const ClusterSpec& spec, HostPlanBuilder* plan)
    : spec_(spec), plan_(*plan) {
  const auto profile = FindProductProfile(spec.product(), spec.mode());
  if (profile.ok()) profile_ = **profile;
}

void DevicePlanner::Block(const DeviceSetting& setting, uint32_t device,
                          const SettingValue& asked, const FindingValue& why,
                          const FindingValue& fix) {
  plan_.Block(setting.kind, {device}, WhatWords(setting, asked), why, fix);
}

void DevicePlanner::BlockUnknown(const DeviceSetting& setting,
                                 const DeviceChange& change,
                                 const SettingValue& asked) {
  Block(setting, change.id(), asked,
        change.facts == nullptr
            ? Worded("plan-say-nothing-about-device")
            : Worded("plan-say-live-not-known", Term(setting.words),
                     MissingWords(setting.Read(*change.facts).missing)),
        Worded("plan-say-ask-the-tool"));
}

void DevicePlanner::PlanAsked(const DeviceSetting& setting,
                              const DeviceChange& change, Obstruction why) {
  const uint32_t id = change.id();
  const auto asked = setting.Wanted(spec_, *change.spec);
  if (!asked) return;
  const SettingValue live = LiveOf(setting, change);
  if (IsUnknown(live)) return BlockUnknown(setting, change, *asked);
  if (const Obstruction no_map = WhyNoMap(setting, id, plan_)) {
    return Block(setting, id, *asked, *no_map, Worded("plan-say-correct-line"));
  }
  if (!setting.always_saved && live != *asked && !setting.is_legal(live)) {
    return Block(
        setting, id, *asked,
        Worded("plan-say-not-put-back", Term(setting.words), SettingText(live)),
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

PlanStep* DevicePlanner::AddStep(const DeviceSetting& setting, uint32_t device,
                                 const SettingValue& from,
                                 const SettingValue& to,
                                 std::vector<FactKey> rests_on) {
  const FactKey goal = DeviceFact(device, setting.id);
  rests_on.push_back(goal);
  for (const char* const key : setting.conf_keys) {
    rests_on.push_back(ConfLineFact(device, key));
  }
  return plan_.AddStep(goal, from, to, std::move(rests_on));
}

PlanStep* DevicePlanner::PlanSet(const DeviceSetting& setting, uint32_t device,
                                 const SettingValue& from,
                                 const SettingValue& to,
                                 std::vector<FactKey> rests_on) {
  PlanStep* step = AddStep(setting, device, from, to, std::move(rests_on));
  if (from.has_none()) {
    *step->mutable_consequences_said()->add_values() =
        Worded("plan-say-no-clear", Term(setting.words));
  }
  return step;
}

void DevicePlanner::PlanRewrite(const DeviceSetting& setting, uint32_t device,
                                const SettingValue& live,
                                std::vector<FactKey> rests_on) {
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

namespace {

struct Planners {
  DevicePlanner& devices;
  GatewayPlanner& gateways;
};

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

// Lists what the tool drops with the device's old subnet.
void AddDropped(const DeviceChange& change, const Planners& planners,
                PlanStep* step) {
  const HostPlanBuilder& plan = planners.devices.plan();
  const uint32_t id = change.id();
  const Ipv4Subnet subnet = change.wanted->subnet();
  const auto say = [step](const FindingValue& consequence) {
    *step->mutable_consequences_said()->add_values() = consequence;
  };
  const bool may_set = planners.gateways.MaySet(id);
  const bool sets_gateway = !change.spec->gateway().empty() && may_set;
  bool had_gateway = false;
  for (const HccnConf::Entry& as_it_is :
       plan.facts().hccn_conf().value().entries()) {
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
    say(Worded("plan-say-tool-deletes",
               absl::StrCat(HccnConfKey(entry.key(), id), "=", entry.value()),
               subnet.ToString()));
  }
  const std::string& gateway = change.facts->gateway().value();
  const auto live = Ipv4Address::Parse(gateway);
  const bool is_stored = !plan.ConfValue(HccnConfKey("gateway", id)).empty();
  if (!sets_gateway && live.ok() && !subnet.Contains(*live) && !is_stored) {
    say(Worded("plan-say-gateway-lost", gateway, subnet.ToString()));
  } else if (!may_set && live.ok() && !is_stored) {
    say(Worded("plan-say-gateway-may-go", gateway));
  }
  if (change.live) say(Worded("plan-say-unseen-routes"));
}

void PlanAddress(const DeviceSetting& setting, const DeviceChange& change,
                 const Planners& planners) {
  if (!change.wanted) return;
  const uint32_t id = change.id();
  const SettingValue wanted = InterfaceValue(*change.wanted);
  if (!change.sets_address()) {
    return planners.devices.PlanRewrite(setting, id, wanted);
  }
  PlanStep* step = planners.devices.PlanSet(
      setting, id, change.live ? InterfaceValue(*change.live) : NoneValue(),
      wanted, {ConfLineFact(id, "gateway"), RoutesFact(id)});
  AddDropped(change, planners, step);
}

void PlanGateway(const DeviceSetting&, const DeviceChange& change,
                 const Planners& planners) {
  planners.gateways.Plan(change);
}

void PlanDetect(const DeviceSetting& setting, const DeviceChange& change,
                const Planners& planners) {
  DevicePlanner& devices = planners.devices;
  if (const auto asked = setting.Wanted(devices.spec(), *change.spec)) {
    const auto address = AddressOf(*asked);
    const bool may_answer =
        address && !address->IsUnset() && !address->IsMulticast();
    return devices.PlanAsked(
        setting, change,
        may_answer ? Obstruction() : Worded("plan-say-cannot-answer"));
  }
  // Writes the live value, which the spec does not name, to the file.
  const SettingValue live = devices.LiveOf(setting, change);
  const auto address = AddressOf(live);
  if (address && !WhyUnassigned(devices.spec(), *address)) {
    devices.PlanRewrite(setting, change.id(), live);
  }
}

void PlanAsked(const DeviceSetting& setting, const DeviceChange& change,
               const Planners& planners) {
  planners.devices.PlanAsked(setting, change);
}

// A switch is known only if the tool was asked. Without a certificate it is
// off, and no other value is possible.
void PlanTls(const DeviceSetting& setting, const DeviceChange& change,
             const Planners& planners) {
  DevicePlanner& devices = planners.devices;
  const auto asked = setting.Wanted(devices.spec(), *change.spec);
  if (!asked) return;
  const SettingValue live = devices.LiveOf(setting, change);
  const auto block = [&](const FindingValue& why, absl::string_view fix) {
    devices.Block(setting, change.id(), *asked, why, Worded(fix));
  };
  if (change.facts == nullptr) {
    block(Worded("plan-say-nothing-about-device"), "plan-say-remove-reason");
  } else if (IsUnknown(live)) {
    block(Worded("plan-say-switch-not-known",
                 MissingWords(MissingOf(change.facts->tls()))),
          "plan-say-remove-reason");
  } else if (!change.facts->tls().value().no_certificate()) {
    devices.PlanAsked(setting, change);
  } else if (live != *asked) {
    block(Worded("plan-say-no-certificate"), "plan-say-give-certificates");
  }
}

void PlanPfc(const DeviceSetting& setting, const DeviceChange& change,
             const Planners& planners) {
  DevicePlanner& devices = planners.devices;
  const auto asked = setting.Wanted(devices.spec(), *change.spec);
  const auto most = MostPausing(devices.profile());
  const bool too_many =
      asked && absl::c_count(asked->numbers().numbers(), 1u) > most;
  devices.PlanAsked(
      setting, change,
      too_many ? Worded("plan-say-priorities", most) : Obstruction());
}

constexpr struct {
  SettingId id;
  void (*plan)(const DeviceSetting& setting, const DeviceChange& change,
               const Planners& planners);
} kPlanners[] = {
    {SETTING_ADDRESS, PlanAddress},
    {SETTING_GATEWAY, PlanGateway},
    {SETTING_DETECT_ADDRESS, PlanDetect},
    {SETTING_MTU, PlanAsked},
    {SETTING_TLS, PlanTls},
    {SETTING_PFC, PlanPfc},
    {SETTING_ROCE_PORT, PlanAsked},
    {SETTING_DSCP_TO_TC, PlanAsked},
};
static_assert(HasRowForEach(kDeviceSettingIds, kPlanners),
              "a setting without its planner");

// True if the spec has no use for the setting.
bool IsUnused(const ClusterSpec& spec, const DeviceSetting& setting) {
  return spec.roce_unused() && !setting.without_roce;
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
  DevicePlanner devices(spec, plan);
  GatewayPlanner gateways(changes, &devices);
  const Planners planners = {devices, gateways};
  for (const DeviceChange& change : changes) {
    for (const auto& [id, plan_it] : kPlanners) {
      const DeviceSetting& setting = DeviceSettingOf(id);
      if (setting.always_saved) plan_it(setting, change, planners);
    }
  }
  for (const auto& [id, plan_it] : kPlanners) {
    const DeviceSetting& setting = DeviceSettingOf(id);
    if (setting.always_saved || IsUnused(spec, setting)) continue;
    for (const DeviceSpec& device : server.devices()) {
      plan_it(setting, {&device, FindDevice(plan->facts(), device.id())},
              planners);
    }
  }
}

}  // namespace clusterd
