#include <set>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "config/plan/hccn_conf_text.h"
#include "config/plan/setting_rows.h"
#include "config/plan/settings.h"
#include "config/plan/step_planners.h"
#include "config/spec/product_profile.h"
#include "config/values/text_form.h"
#include "config/words/fact_text.h"

namespace clusterd {
namespace {

// What a person does about it.
constexpr char kAskTheTool[] =
    "let hccn_tool answer on this host, then plan again";
constexpr char kCorrectSpec[] = "correct the address in the spec";
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

// What is wanted of one device, and what it has. Pointers into spec and facts.
struct DeviceChange {
  const DeviceSpec* spec;
  const DeviceFacts* facts;                  // nullptr: the host sent nothing.
  std::optional<Ipv4Interface> live = {};    // nullopt: none is set.
  std::optional<Ipv4Interface> wanted = {};  // nullopt: the spec names none.

  bool sets_address() const { return wanted && live != wanted; }
};

// Why this is no address that anybody could have, by the product too; "":
// nothing is known against it.
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

// Reads the live address, if one is set. Why it cannot be told, or is not one;
// "": it can.
std::string ReadLive(const DeviceFacts* facts,
                     std::optional<Ipv4Interface>* live) {
  if (facts == nullptr) {
    return "the host has no such device, or sent nothing about it";
  }
  if (!IsKnown(facts->address())) {
    return absl::StrCat("its live address is not known: ",
                        WhyUnknown(facts->address()));
  }
  const auto& settings = facts->address().value().settings();
  if (settings.size() > 1) {
    return absl::StrCat("it has ", settings.size(),
                        " live addresses, and hccn_tool sets one");
  }
  if (settings.empty()) return "";
  const auto read =
      Ipv4Interface::Parse(settings[0].address(), settings[0].netmask());
  if (read.ok()) *live = *read;
  return read.ok() ? ""
                   : absl::StrCat("its live address is not readable: ",
                                  read.status().message());
}

// Adds what is to be done about the device's address; blocks it if that is not
// known.
void Collect(const ClusterSpec& spec, const DeviceSpec& device,
             HostPlanBuilder* plan, std::vector<DeviceChange>* changes) {
  DeviceChange change = {&device, plan->FindDevice(device.id())};
  const bool names_one = !device.address().empty();
  const auto block = [&](absl::string_view why, absl::string_view fix) {
    plan->Block(CHANGE_DEVICE_ADDRESS, {device.id()},
                names_one ? absl::StrCat("address ", device.address(),
                                         " netmask ", device.netmask())
                          : "network settings",
                why, fix);
  };
  const std::string unknown = ReadLive(change.facts, &change.live);
  if (!unknown.empty()) {
    // Else the spec asks for no address, and nothing that goes with one.
    const bool matters =
        absl::c_any_of(DeviceSettings(), [&](const DeviceSetting& setting) {
          return setting.always_saved && setting.wanted(spec, device);
        });
    if (matters) block(unknown, kAskTheTool);
    return;
  }
  if (names_one) {
    const auto wanted =
        Ipv4Interface::Parse(device.address(), device.netmask());
    if (!wanted.ok()) return block(wanted.status().message(), kCorrectSpec);
    const std::string why = WhyUnusable(spec, *wanted);
    if (!why.empty()) return block(why, kCorrectSpec);
    change.wanted = *wanted;
  }
  changes->push_back(change);
}

// The first other device of the host that has what this one gets; nullptr: it
// is free. `moved`: devices that have given their address up by then.
const DeviceFacts* FindHolder(const DeviceChange& change,
                              const HostFacts& facts,
                              const std::set<uint32_t>& moved) {
  if (!change.sets_address()) return nullptr;
  const std::string wanted = change.wanted->address().ToString();
  const auto holder =
      absl::c_find_if(facts.devices(), [&](const DeviceFacts& device) {
        return device.id() != change.spec->id() &&
               moved.count(device.id()) == 0 &&
               absl::c_any_of(device.address().value().settings(),
                              [&wanted](const Ipv4Setting& setting) {
                                return setting.address() == wanted;
                              });
      });
  return holder == facts.devices().end() ? nullptr : &*holder;
}

// Those whose address is wrong come in an order in which an address is free
// before it is set. Blocks an address that another device has and keeps, maybe
// because its own change is blocked, and devices that take over each other's
// addresses in a circle.
std::vector<DeviceChange> InOrder(std::vector<DeviceChange> waiting,
                                  HostPlanBuilder* plan) {
  std::vector<DeviceChange> ordered;
  std::set<uint32_t> moved;
  const auto keeps_it = [&waiting](const DeviceFacts& holder) {
    return absl::c_none_of(waiting, [&holder](const DeviceChange& other) {
      return other.sets_address() && other.spec->id() == holder.id();
    });
  };
  const auto block = [plan](const DeviceChange& change, absl::string_view why,
                            absl::string_view fix) {
    plan->Block(CHANGE_DEVICE_ADDRESS, {change.spec->id()},
                absl::StrCat("address ", change.spec->address()), why, fix);
  };
  while (true) {
    const DeviceFacts* holder = nullptr;
    const auto next = absl::c_find_if(waiting, [&](const DeviceChange& change) {
      holder = FindHolder(change, plan->facts(), moved);
      return holder == nullptr || keeps_it(*holder);
    });
    if (next == waiting.end()) break;
    if (holder == nullptr) {
      if (next->sets_address()) moved.insert(next->spec->id());
      ordered.push_back(*next);
    } else {
      block(*next,
            absl::StrCat("device ", holder->id(),
                         " of this host has it and keeps it"),
            "correct the spec, or the other device");
    }
    waiting.erase(next);
  }
  for (const DeviceChange& change : waiting) {
    block(change,
          "devices of this host take over each other's addresses in a circle, "
          "and hccn_tool refuses an address that another device has",
          "give one of these devices an unused address by hand, then plan "
          "again");
  }
  return ordered;
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
    std::vector<DeviceChange> changes;
    for (const DeviceSpec& device : server.devices()) {
      Collect(spec_, device, &plan_, &changes);
    }
    for (const DeviceChange& change : InOrder(std::move(changes), &plan_)) {
      PlanAddress(change);
      for (const DeviceSetting& setting : DeviceSettings()) {
        if (!setting.always_saved || Is(setting, kAddressSetting)) continue;
        PlanSetting(setting, change);
      }
    }
    for (const DeviceSetting& setting : DeviceSettings()) {
      if (setting.always_saved) continue;
      for (const DeviceSpec& device : server.devices()) {
        PlanSetting(setting, {&device, plan_.FindDevice(device.id())});
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
        Is(setting, kGatewaySetting) && change.sets_address();
    const std::optional<std::string> asked =
        setting.wanted(spec_, *change.spec);
    if (!asked && !may_be_dropped) return Keep(setting, change);
    const std::string live = LiveOf(setting, change);
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
      plan_.Block(setting.kind, {id}, WhatText(setting, wanted), why,
                  absl::StrCat("correct the ", setting.words, " in the spec"));
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
    const uint32_t id = change.spec->id();
    const std::string live = LiveOf(setting, change);
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
    std::string from =
        absl::StrJoin(ConfLinesOf(setting, device, live), "/",
                      [this](std::string* out, const ConfLine& line) {
                        absl::StrAppend(out, plan_.ConfValue(line.key));
                      });
    if (from.empty() || from[0] == '/') from = kNoneFact;
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
