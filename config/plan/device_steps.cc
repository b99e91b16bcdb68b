#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "config/plan/hccn_conf_text.h"
#include "config/plan/setting_rows.h"
#include "config/plan/settings.h"
#include "config/plan/step_planners.h"
#include "config/words/fact_text.h"

namespace clusterd {
namespace {

constexpr char kUnseenRoutes[] =
    "routes that only the device has, and hccn.conf does not, are not seen "
    "here and may go with the old address";
constexpr char kNoClear[] =
    "no command of hccn_tool is known to clear it: a rollback takes it out of "
    "hccn.conf, and the device keeps it until it restarts";

std::string ValueOf(const Ipv4Interface& interface) {
  return absl::StrCat(interface.address().ToString(), "/",
                      interface.subnet().netmask().ToString());
}

// The gateway that a gateway, route or ip_route entry leads through.
std::optional<Ipv4Address> GatewayOf(const HccnConf::Entry& entry) {
  absl::string_view value = entry.value();
  if (entry.key() == "ip_route") {
    const size_t via = value.find(" via ");
    if (via == absl::string_view::npos) return std::nullopt;
    value = value.substr(via + 5);
    value = value.substr(0, value.find(' '));
  } else if (IsRouteKey(entry.key()) &&
             !absl::ConsumePrefix(&value, "gateway_")) {
    return std::nullopt;
  }
  const absl::StatusOr<Ipv4Address> address = Ipv4Address::Parse(value);
  return address.ok() ? std::make_optional(*address) : std::nullopt;
}

bool Is(const DeviceSetting& setting, absl::string_view name) {
  return setting.name == name;
}

// "TLS switch off", "gateway 10.0.0.254".
std::string WhatText(const DeviceSetting& setting, absl::string_view wanted) {
  return absl::StrCat(setting.words,
                      Is(setting, kTlsSetting) ? " switch " : " ", wanted);
}

class DevicePlanner {
 public:
  DevicePlanner(const ClusterSpec& spec, HostPlanBuilder* plan)
      : spec_(spec), plan_(*plan) {}

  // First the settings that the tool may change with the device's address, each
  // with it; the others for themselves.
  void Plan(const ServerSpec& server) {
    for (const DeviceChange& change : OrderAddresses(spec_, server, &plan_)) {
      PlanAddress(change);
      for (const DeviceSetting& setting : DeviceSettings()) {
        if (!setting.always_saved || Is(setting, kAddressSetting)) continue;
        PlanSetting(setting, change);
      }
    }
    for (const DeviceSetting& setting : DeviceSettings()) {
      if (setting.always_saved) continue;
      for (const DeviceSpec& device : server.devices()) {
        DeviceChange change;
        change.spec = &device;
        change.facts = plan_.FindDevice(device.id());
        PlanSetting(setting, change);
      }
    }
  }

 private:
  void AddDropped(const DeviceChange& change, PlanStep* step) {
    const uint32_t id = change.spec->id();
    const Ipv4Subnet subnet = change.wanted->subnet();
    const bool sets_gateway = !change.spec->gateway().empty();
    bool had_gateway = false;
    for (const HccnConf::Entry& as_it_is :
         plan_.facts().hccn_conf().value().entries()) {
      if (!as_it_is.has_device() || as_it_is.device() != id) continue;
      // The file is repaired before the tool meets it.
      const HccnConf::Entry entry = RepairedEntry(as_it_is);
      const bool is_gateway = entry.key() == "gateway";
      if (is_gateway ? had_gateway : !IsRouteKey(entry.key())) continue;
      had_gateway |= is_gateway;
      const std::optional<Ipv4Address> through = GatewayOf(entry);
      if (through && subnet.Contains(*through)) continue;
      *step->add_dropped() = entry;
      if (is_gateway && sets_gateway) continue;
      step->add_consequences(
          absl::StrCat("the tool deletes ", HccnConfKey(entry.key(), id), "=",
                       entry.value(), ": it is outside ", subnet.ToString(),
                       ", and the spec names none to replace it"));
    }
    const std::string& gateway = change.facts->gateway().value();
    const auto live = Ipv4Address::Parse(gateway);
    if (!sets_gateway && live.ok() && !subnet.Contains(*live) &&
        plan_.ConfValue(HccnConfKey("gateway", id)).empty()) {
      step->add_consequences(absl::StrCat("the live gateway ", gateway,
                                          " is outside ", subnet.ToString(),
                                          " and is lost"));
    }
    if (change.live) step->add_consequences(kUnseenRoutes);
  }

  void PlanAddress(const DeviceChange& change) {
    if (!change.wanted) return;
    const uint32_t id = change.spec->id();
    const DeviceSetting& address = *FindSetting(kAddressSetting)->device;
    const std::string wanted = ValueOf(*change.wanted);
    if (!change.sets_address) return PlanRewrite(address, id, wanted);
    PlanStep* step = PlanSet(
        address, id, change.live ? ValueOf(*change.live) : kNoneFact, wanted,
        {HccnConfFactName("gateway", id), HccnConfFactName("routes", id)});
    AddDropped(change, step);
  }

  // Why the wanted value would not work; "": nothing is known against it.
  static std::string WhyNot(const DeviceSetting& setting,
                            const DeviceChange& change,
                            const std::string& wanted) {
    const auto parsed = Ipv4Address::Parse(wanted);
    if (Is(setting, kGatewaySetting)) {
      const auto& own = change.wanted ? change.wanted : change.live;
      return parsed.ok() && own && own->subnet().Contains(*parsed)
                 ? ""
                 : "it is outside the device's subnet, and hccn_tool refuses "
                   "it";
    }
    if (Is(setting, kDetectSetting) &&
        (!parsed.ok() || parsed->IsUnset() || parsed->IsMulticast())) {
      return "it is no address that can answer";
    }
    return setting.is_legal(wanted)
               ? ""
               : absl::StrCat("it is no ", setting.words,
                              " that hccn_tool sets without a question");
  }

  void BlockUnknown(const DeviceSetting& setting, const DeviceChange& change,
                    const std::string& wanted) {
    const bool is_tls = Is(setting, kTlsSetting);
    std::string why = "the host sent nothing about this device";
    if (change.facts != nullptr) {
      why = absl::StrCat(
          "its ", is_tls ? "switch" : absl::StrCat("live ", setting.words),
          " is not known: ", WhyMissing(setting.live(*change.facts).missing));
    }
    const char* fix = kAskTheTool;
    if (is_tls) {
      fix = spec_.allow_tls_query()
                ? "remove what the reason names, or set the switch by hand, "
                  "then plan again"
                : "set allow_tls_query: true in the spec, or set the switch by "
                  "hand, then plan again";
    }
    plan_.Block(setting.kind, {change.spec->id()}, WhatText(setting, wanted),
                why, fix);
  }

  void PlanSetting(const DeviceSetting& setting, const DeviceChange& change) {
    const uint32_t id = change.spec->id();
    const bool may_be_dropped =
        Is(setting, kGatewaySetting) && change.sets_address;
    const std::optional<std::string> asked =
        setting.wanted(spec_, *change.spec);
    if (!asked && !may_be_dropped) return Keep(setting, change);
    const std::string live = change.facts == nullptr
                                 ? kUnknownFact
                                 : setting.live(*change.facts).value;
    if (live == kUnknownFact) {
      if (asked) BlockUnknown(setting, change, *asked);
      return;
    }
    const std::string wanted = asked.value_or(live);
    const std::string why = WhyNot(setting, change, wanted);
    if (why.empty() && live == wanted && !may_be_dropped) {
      PlanRewrite(setting, id, live);
    } else if (why.empty()) {
      PlanSet(setting, id, live, wanted);
    } else if (asked) {
      plan_.Block(
          setting.kind, {id}, WhatText(setting, wanted), why,
          setting.always_saved
              ? kCorrectSpec
              : absl::StrCat("correct the ", setting.words, " in the spec"));
    }
  }

  // Whether hccn.conf brings the device's own address back, now or after the
  // plan: the recovery at boot refuses a gateway without it.
  bool FileKeepsAddress(const DeviceChange& change) const {
    if (change.wanted) return true;  // A step sees to it.
    const uint32_t id = change.spec->id();
    const auto in_file =
        Ipv4Interface::Parse(plan_.ConfValue(HccnConfKey("address", id)),
                             plan_.ConfValue(HccnConfKey("netmask", id)));
    return in_file.ok() && change.live && *in_file == *change.live;
  }

  // What the spec does not name: the file gets the live value.
  void Keep(const DeviceSetting& setting, const DeviceChange& change) {
    if (change.facts == nullptr) return;
    const uint32_t id = change.spec->id();
    const std::string live = setting.live(*change.facts).value;
    const auto address = Ipv4Address::Parse(live);
    if (!address.ok()) return;
    if (Is(setting, kDetectSetting) && WhyNobodys(spec_, *address).empty()) {
      return PlanRewrite(setting, id, live);
    }
    if (Is(setting, kGatewaySetting) && change.live &&
        change.live->subnet().Contains(*address) && FileKeepsAddress(change) &&
        // Else the recovery at boot does not take it from the file.
        plan_.ConfValue(HccnConfKey("udhcpc_enable", id)).empty()) {
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
    step->set_undo("hccn.conf byte for byte");
    return step;
  }

  // The live value is right; the file may not be.
  void PlanRewrite(const DeviceSetting& setting, uint32_t device,
                   const std::string& live,
                   std::vector<std::string> rests_on = {}) {
    std::vector<std::string> in_file;
    for (const ConfLine& line : ConfLinesOf(setting, device, live)) {
      in_file.push_back(plan_.ConfValue(line.key));
    }
    const std::string from = in_file.front().empty()
                                 ? std::string(kNoneFact)
                                 : absl::StrJoin(in_file, "/");
    if (from == ConfSpelling(setting, live)) return;
    PlanStep* step = AddStep(setting, device, from, live, std::move(rests_on));
    step->set_kind(CHANGE_HCCN_CONF);
    step->set_precondition(
        absl::StrCat("device ", device, " has ", setting.words, " ", live));
  }

  PlanStep* PlanSet(const DeviceSetting& setting, uint32_t device,
                    const std::string& from, const std::string& to,
                    std::vector<std::string> rests_on = {}) {
    PlanStep* step = AddStep(setting, device, from, to, std::move(rests_on));
    const bool is_set = from != kNoneFact;
    const std::string now =
        is_set ? absl::StrCat(setting.words, " ", ShownValue(from))
               : absl::StrCat("no ", setting.words);
    step->set_precondition(absl::StrCat(
        "device ", device, " has ",
        Is(setting, kGatewaySetting) ? "its planned address" : now,
        setting.needs_idle_device ? " and no process uses it" : ""));
    if (is_set) {
      step->set_undo(
          absl::StrCat(Is(setting, kTlsSetting) ? "switch TLS " : "set ",
                       ShownValue(from), " again; ", step->undo()));
    } else {
      step->add_consequences(
          absl::StrCat("the device has ", now, " now: ", kNoClear));
    }
    return step;
  }

  const ClusterSpec& spec_;
  HostPlanBuilder& plan_;
};

// A line of hccn.conf that stops the tool and that no program should repair.
std::string WhyConfStops(const HccnConf& conf) {
  for (const HccnConf::Problem& problem : conf.problems()) {
    const auto kind = problem.kind();
    const bool breaks = kind == HccnConf::Problem::MALFORMED_ROUTE ||
                        kind == HccnConf::Problem::LINE_TOO_LONG ||
                        kind == HccnConf::Problem::FILE_TOO_LARGE;
    if (!breaks || IsRepairable(problem)) continue;
    return absl::StrCat("/etc/hccn.conf line ", problem.line(), " is ",
                        HccnConf::Problem::Kind_Name(kind),
                        ", which breaks the tool's next write");
  }
  return "";
}

// Why hccn_tool cannot be used for changes on this host; "": it can.
std::string WhyNoSetCommands(const HostFacts& facts) {
  if (!IsKnown(facts.hccn_tool().path())) {
    return absl::StrCat("hccn_tool: ", WhyUnknown(facts.hccn_tool().path()));
  }
  if (facts.hccn_tool().generation() == NpuToolFacts::ASCEND_950) {
    return "the set commands of the Ascend 950 hccn_tool are not known";
  }
  if (!IsKnown(facts.hccn_conf())) {
    return absl::StrCat("/etc/hccn.conf: ", WhyUnknown(facts.hccn_conf()));
  }
  return WhyConfStops(facts.hccn_conf().value());
}

// Blocks everything that the spec asks of devices.
void BlockAll(const ClusterSpec& spec, const ServerSpec& server,
              const std::string& why, HostPlanBuilder* plan) {
  // What is asked for, by its kind: settings of one kind are one change.
  std::map<ChangeKind, std::pair<std::string, std::set<uint32_t>>> asked;
  for (const DeviceSetting& setting : DeviceSettings()) {
    for (const DeviceSpec& device : server.devices()) {
      const auto wanted = setting.wanted(spec, device);
      if (!wanted) continue;
      auto& [what, ids] = asked[setting.kind];
      what = setting.kind == CHANGE_DEVICE_ADDRESS ? "device addresses"
                                                   : WhatText(setting, *wanted);
      ids.insert(device.id());
    }
  }
  for (const auto& [kind, change] : asked) {
    const auto& [what, ids] = change;
    plan->Block(kind, {ids.begin(), ids.end()}, what, why,
                "repair that by hand, then plan again");
  }
}

}  // namespace

void PlanDeviceSteps(const ClusterSpec& spec, const ServerSpec& server,
                     HostPlanBuilder* plan) {
  const std::string why = WhyNoSetCommands(plan->facts());
  if (!why.empty()) return BlockAll(spec, server, why, plan);
  DevicePlanner(spec, plan).Plan(server);
}

}  // namespace clusterd
