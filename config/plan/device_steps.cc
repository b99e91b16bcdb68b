#include "config/plan/device_steps.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "config/plan/hccn_conf_text.h"
#include "config/plan/named_facts.h"
#include "config/spec/ipv4.h"
#include "config/spec/product_profile.h"

namespace clusterd {
namespace {

constexpr char kAskTheTool[] =
    "let hccn_tool answer on this host, then plan again";
constexpr char kCorrectSpec[] = "correct the address in the spec";
constexpr char kUnseenRoutes[] =
    "routes that only the device has, and hccn.conf does not, are not seen "
    "here and may go with the old address";
constexpr char kNoClear[] =
    "no command of hccn_tool is known to clear it: a rollback takes it out of "
    "hccn.conf, and the device keeps it until it restarts";

bool AsksForSomething(const DeviceSpec& device) {
  return !device.address().empty() || !device.gateway().empty() ||
         !device.detect_address().empty();
}

// What is wanted of one device, and what it has.
struct DeviceChange {
  const DeviceSpec* spec = nullptr;
  const DeviceFacts* facts = nullptr;
  std::optional<Ipv4Interface> live;  // nullopt: none is set.
  Ipv4Interface wanted;               // Valid if has_wanted.
  bool has_wanted = false;
  bool sets_address = false;
};

std::string Pair(absl::string_view address, absl::string_view netmask) {
  return address.empty() ? "" : absl::StrCat(address, "/", netmask);
}

std::string Netmask(const Ipv4Interface& interface) {
  return interface.subnet().netmask().ToString();
}

Ipv4Setting Setting(const Ipv4Interface& interface) {
  Ipv4Setting setting;
  setting.set_address(interface.address().ToString());
  setting.set_netmask(Netmask(interface));
  return setting;
}

// Why this is no address that anybody could have; "": nothing is known against
// it.
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

// Fills in what is known of the live address. False, with `why`, if it cannot
// be told.
bool ReadLive(const DeviceFacts* facts, std::optional<Ipv4Interface>* live,
              std::string* why) {
  if (facts == nullptr) {
    *why = "the host has no such device, or sent nothing about it";
    return false;
  }
  if (facts->address().state_case() != DeviceAddressFact::kValue) {
    *why = absl::StrCat("its live address is not known: ",
                        MissingText(facts->address().missing()));
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

// The gateway that a route or ip_route entry goes through.
std::optional<Ipv4Address> RouteGateway(const HccnConf::Entry& entry) {
  absl::string_view value = entry.value();
  if (absl::StartsWith(entry.key(), "route_address_")) {
    if (!absl::ConsumePrefix(&value, "gateway_")) return std::nullopt;
  } else {
    const size_t via = value.find(" via ");
    if (via == absl::string_view::npos) return std::nullopt;
    value = value.substr(via + 5);
    value = value.substr(0, value.find(' '));
  }
  const absl::StatusOr<Ipv4Address> address = Ipv4Address::Parse(value);
  if (!address.ok()) return std::nullopt;
  return *address;
}

bool IsRoute(const HccnConf::Entry& entry) {
  return absl::StartsWith(entry.key(), "route_address_") ||
         entry.key() == "ip_route";
}

class DevicePlanner {
 public:
  DevicePlanner(const ClusterSpec& spec, HostPlanBuilder* plan)
      : spec_(spec), plan_(*plan) {}

  void Plan(const ServerSpec& server);

 private:
  void Collect(const DeviceSpec& device);
  // Blocks devices whose address another device has and keeps.
  void BlockTaken();
  // Orders what sets addresses; blocks what goes round in a circle.
  void Order();
  void PlanAddress(const DeviceChange& change);
  void PlanGateway(const DeviceChange& change);
  void PlanDetect(const DeviceChange& change);
  // The same for what the spec does not name: the file gets the live value.
  void KeepGateway(const DeviceChange& change);
  void KeepDetect(const DeviceChange& change);
  // Whether hccn.conf brings the device's own address back, now or after the
  // plan: the recovery at boot refuses a gateway without it.
  bool FileKeepsAddress(const DeviceChange& change) const;
  void AddDropped(const DeviceChange& change, PlanStep* step);
  // The live value is right; the file may not be.
  void PlanRewrite(const DeviceChange& change, absl::string_view what,
                   HccnConfRewriteChange::Setting setting,
                   const std::vector<std::string>& rests_on,
                   const std::string& in_file, const std::string& live);

  const ClusterSpec& spec_;
  HostPlanBuilder& plan_;
  std::vector<DeviceChange> changes_;
};

void DevicePlanner::Collect(const DeviceSpec& device) {
  DeviceChange change;
  change.spec = &device;
  change.facts = plan_.FindDevice(device.id());
  const std::string what = device.address().empty()
                               ? "network settings"
                               : absl::StrCat("address ", device.address(),
                                              " netmask ", device.netmask());
  std::string why;
  if (!ReadLive(change.facts, &change.live, &why)) {
    if (!AsksForSomething(device)) return;
    plan_.Block(CHANGE_DEVICE_ADDRESS, {device.id()}, what, why, kAskTheTool);
    return;
  }
  if (!device.address().empty()) {
    const auto wanted =
        Ipv4Interface::Parse(device.address(), device.netmask());
    why = wanted.ok() ? WhyUnusable(spec_, *wanted)
                      : std::string(wanted.status().message());
    if (!why.empty()) {
      plan_.Block(CHANGE_DEVICE_ADDRESS, {device.id()}, what, why,
                  kCorrectSpec);
      return;
    }
    change.wanted = *wanted;
    change.has_wanted = true;
    change.sets_address = change.live != change.wanted;
  }
  changes_.push_back(change);
}

void DevicePlanner::BlockTaken() {
  std::map<std::string, uint32_t> keepers;  // Address to device.
  for (const DeviceFacts& device : plan_.facts().devices()) {
    const bool moves = std::any_of(
        changes_.begin(), changes_.end(), [&device](const DeviceChange& each) {
          return each.sets_address && each.spec->id() == device.id();
        });
    if (moves) continue;
    for (const Ipv4Setting& setting : device.address().value().settings()) {
      keepers.emplace(setting.address(), device.id());
    }
  }
  const auto taken = std::remove_if(
      changes_.begin(), changes_.end(), [&](const DeviceChange& change) {
        if (!change.sets_address) return false;
        const auto keeper = keepers.find(change.wanted.address().ToString());
        if (keeper == keepers.end()) return false;
        plan_.Block(CHANGE_DEVICE_ADDRESS, {change.spec->id()},
                    absl::StrCat("address ", change.spec->address()),
                    absl::StrCat("device ", keeper->second,
                                 " of this host has it and keeps it"),
                    "correct the spec, or the other device");
        return true;
      });
  changes_.erase(taken, changes_.end());
}

void DevicePlanner::Order() {
  std::vector<DeviceChange> ordered;
  std::vector<DeviceChange> waiting = std::move(changes_);
  const auto is_taken = [&waiting](const DeviceChange& change) {
    return change.sets_address &&
           std::any_of(waiting.begin(), waiting.end(),
                       [&change](const DeviceChange& other) {
                         return other.spec != change.spec &&
                                other.sets_address && other.live &&
                                other.live->address() ==
                                    change.wanted.address();
                       });
  };
  while (!waiting.empty()) {
    const auto next =
        std::find_if_not(waiting.begin(), waiting.end(), is_taken);
    if (next == waiting.end()) break;
    ordered.push_back(*next);
    waiting.erase(next);
  }
  changes_ = std::move(ordered);
  for (const DeviceChange& change : waiting) {
    plan_.Block(
        CHANGE_DEVICE_ADDRESS, {change.spec->id()},
        absl::StrCat("address ", change.spec->address()),
        "devices of this host take over each other's addresses in a circle, "
        "and hccn_tool refuses an address that another device has",
        "give one of these devices an unused address by hand, then plan again");
  }
}

void DevicePlanner::AddDropped(const DeviceChange& change, PlanStep* step) {
  const uint32_t id = change.spec->id();
  const Ipv4Subnet subnet = change.wanted.subnet();
  std::set<std::string> seen;
  for (const HccnConf::Entry& as_it_is :
       plan_.facts().hccn_conf().value().entries()) {
    if (!as_it_is.has_device() || as_it_is.device() != id) continue;
    if (as_it_is.key() != "gateway" && !IsRoute(as_it_is)) continue;
    // The file is repaired before the tool meets it.
    const HccnConf::Entry entry = RepairedEntry(as_it_is);
    if (!seen.insert(entry.key()).second && !IsRoute(entry)) continue;
    std::optional<Ipv4Address> through;
    if (entry.key() == "gateway") {
      const auto parsed = Ipv4Address::Parse(entry.value());
      if (parsed.ok()) through = *parsed;
    } else {
      through = RouteGateway(entry);
    }
    if (through && subnet.Contains(*through)) continue;
    *step->mutable_device_address()->add_dropped() = entry;
    if (entry.key() == "gateway" && !change.spec->gateway().empty()) continue;
    step->add_consequences(
        absl::StrCat("the tool deletes ", HccnConfKey(entry.key(), id), "=",
                     entry.value(), ": it is outside ", subnet.ToString(),
                     ", and the spec names none to replace it"));
  }
  const TextFact& gateway = change.facts->gateway();
  const auto live = Ipv4Address::Parse(gateway.value());
  if (change.spec->gateway().empty() && live.ok() && !subnet.Contains(*live) &&
      plan_.ConfValue("gateway", id).empty()) {
    step->add_consequences(absl::StrCat("the live gateway ", gateway.value(),
                                        " is outside ", subnet.ToString(),
                                        " and is lost"));
  }
  if (change.live) step->add_consequences(kUnseenRoutes);
}

void DevicePlanner::PlanAddress(const DeviceChange& change) {
  if (!change.has_wanted) return;
  const uint32_t id = change.spec->id();
  const std::vector<std::string> rests_on = {DeviceFactName(id, "address"),
                                             HccnConfFactName("address", id),
                                             HccnConfFactName("netmask", id)};
  const std::string wanted =
      Pair(change.wanted.address().ToString(), Netmask(change.wanted));
  if (!change.sets_address) {
    PlanRewrite(
        change, "address", HccnConfRewriteChange::ADDRESS, rests_on,
        Pair(plan_.ConfValue("address", id), plan_.ConfValue("netmask", id)),
        wanted);
    return;
  }
  std::vector<std::string> all = rests_on;
  all.push_back(HccnConfFactName("gateway", id));
  all.push_back(HccnConfFactName("routes", id));
  PlanStep* step = plan_.AddStep(CHANGE_DEVICE_ADDRESS, all);
  DeviceAddressChange* address = step->mutable_device_address();
  address->set_device(id);
  if (change.live) *address->mutable_from() = Setting(*change.live);
  *address->mutable_to() = Setting(change.wanted);
  step->set_precondition(absl::StrCat(
      "device ", id, " has ",
      change.live ? absl::StrCat("address ", change.live->ToString())
                  : "no address",
      " and no process uses it"));
  if (change.live) {
    step->set_undo(absl::StrCat("set ", change.live->ToString(),
                                " again; hccn.conf byte for byte"));
  } else {
    step->set_undo("hccn.conf byte for byte");
    step->add_consequences(
        absl::StrCat("the device has no address now: ", kNoClear));
  }
  AddDropped(change, step);
}

void DevicePlanner::PlanGateway(const DeviceChange& change) {
  const uint32_t id = change.spec->id();
  const TextFact& fact = change.facts->gateway();
  const bool known = fact.state_case() == TextFact::kValue;
  const bool in_spec = !change.spec->gateway().empty();
  if (!in_spec && !change.sets_address) return KeepGateway(change);
  if (!known) {
    if (in_spec) {
      plan_.Block(CHANGE_DEVICE_ADDRESS, {id},
                  absl::StrCat("gateway ", change.spec->gateway()),
                  absl::StrCat("its live gateway is not known: ",
                               MissingText(fact.missing())),
                  kAskTheTool);
    }
    return;
  }
  const std::string wanted = in_spec ? change.spec->gateway() : fact.value();
  if (wanted.empty()) return;
  const auto parsed = Ipv4Address::Parse(wanted);
  const std::optional<Ipv4Interface> own =
      change.has_wanted ? std::optional<Ipv4Interface>(change.wanted)
                        : change.live;
  const bool fits = parsed.ok() && own && own->subnet().Contains(*parsed);
  if (!fits) {
    if (in_spec) {
      plan_.Block(CHANGE_DEVICE_ADDRESS, {id}, absl::StrCat("gateway ", wanted),
                  "it is outside the device's subnet, and hccn_tool refuses it",
                  kCorrectSpec);
    }
    return;
  }
  const std::vector<std::string> rests_on = {DeviceFactName(id, "gateway"),
                                             HccnConfFactName("gateway", id)};
  if (fact.value() == wanted && !change.sets_address) {
    PlanRewrite(change, "gateway", HccnConfRewriteChange::GATEWAY, rests_on,
                plan_.ConfValue("gateway", id), wanted);
    return;
  }
  PlanStep* step = plan_.AddStep(CHANGE_DEVICE_ADDRESS, rests_on);
  GatewayChange* gateway = step->mutable_gateway();
  gateway->set_device(id);
  gateway->set_from(fact.value());
  gateway->set_to(wanted);
  gateway->set_put_back(fact.value() == wanted);
  step->set_precondition(
      absl::StrCat("device ", id, " has its planned address"));
  if (fact.value().empty()) {
    step->set_undo("hccn.conf byte for byte");
    step->add_consequences(
        absl::StrCat("the device has no gateway now: ", kNoClear));
  } else {
    step->set_undo(
        absl::StrCat("set ", fact.value(), " again; hccn.conf byte for byte"));
  }
}

void DevicePlanner::PlanDetect(const DeviceChange& change) {
  const std::string& wanted = change.spec->detect_address();
  if (wanted.empty()) return KeepDetect(change);
  const uint32_t id = change.spec->id();
  const TextFact& fact = change.facts->detect_address();
  const std::string what = absl::StrCat("detect address ", wanted);
  if (fact.state_case() != TextFact::kValue) {
    plan_.Block(CHANGE_DEVICE_ADDRESS, {id}, what,
                absl::StrCat("its live detect address is not known: ",
                             MissingText(fact.missing())),
                kAskTheTool);
    return;
  }
  const auto parsed = Ipv4Address::Parse(wanted);
  if (!parsed.ok() || parsed->IsUnset() || parsed->IsMulticast()) {
    plan_.Block(CHANGE_DEVICE_ADDRESS, {id}, what,
                "it is no address that can answer", kCorrectSpec);
    return;
  }
  const std::vector<std::string> rests_on = {
      DeviceFactName(id, "detect address"), HccnConfFactName("netdetect", id)};
  if (fact.value() == wanted) {
    PlanRewrite(change, "detect address", HccnConfRewriteChange::DETECT_ADDRESS,
                rests_on, plan_.ConfValue("netdetect", id), wanted);
    return;
  }
  PlanStep* step = plan_.AddStep(CHANGE_DEVICE_ADDRESS, rests_on);
  DetectAddressChange* detect = step->mutable_detect_address();
  detect->set_device(id);
  detect->set_from(fact.value().empty() ? "0.0.0.0" : fact.value());
  detect->set_to(wanted);
  step->set_precondition(
      absl::StrCat("device ", id, " has detect address ", detect->from()));
  step->set_undo(
      absl::StrCat("set ", detect->from(), " again; hccn.conf byte for byte"));
}

bool DevicePlanner::FileKeepsAddress(const DeviceChange& change) const {
  if (change.has_wanted) return true;  // A step sees to it.
  const uint32_t id = change.spec->id();
  const auto in_file = Ipv4Interface::Parse(plan_.ConfValue("address", id),
                                            plan_.ConfValue("netmask", id));
  return in_file.ok() && change.live && *in_file == *change.live;
}

void DevicePlanner::KeepGateway(const DeviceChange& change) {
  const uint32_t id = change.spec->id();
  const TextFact& fact = change.facts->gateway();
  const auto live = Ipv4Address::Parse(fact.value());
  if (fact.state_case() != TextFact::kValue || !live.ok() || !change.live ||
      !change.live->subnet().Contains(*live) || !FileKeepsAddress(change) ||
      // The recovery at boot then does not take it from the file.
      !plan_.ConfValue("udhcpc_enable", id).empty()) {
    return;
  }
  PlanRewrite(
      change, "gateway", HccnConfRewriteChange::GATEWAY,
      {DeviceFactName(id, "address"), DeviceFactName(id, "gateway"),
       HccnConfFactName("address", id), HccnConfFactName("gateway", id)},
      plan_.ConfValue("gateway", id), fact.value());
}

void DevicePlanner::KeepDetect(const DeviceChange& change) {
  const uint32_t id = change.spec->id();
  const TextFact& fact = change.facts->detect_address();
  const auto live = Ipv4Address::Parse(fact.value());
  if (fact.state_case() != TextFact::kValue || !live.ok() ||
      !WhyNobodys(spec_, *live).empty()) {
    return;
  }
  PlanRewrite(
      change, "detect address", HccnConfRewriteChange::DETECT_ADDRESS,
      {DeviceFactName(id, "detect address"), HccnConfFactName("netdetect", id)},
      plan_.ConfValue("netdetect", id), fact.value());
}

void DevicePlanner::PlanRewrite(const DeviceChange& change,
                                absl::string_view what,
                                HccnConfRewriteChange::Setting setting,
                                const std::vector<std::string>& rests_on,
                                const std::string& in_file,
                                const std::string& live) {
  if (in_file == live) return;
  const uint32_t id = change.spec->id();
  PlanStep* step = plan_.AddStep(CHANGE_HCCN_CONF, rests_on);
  HccnConfRewriteChange* rewrite = step->mutable_hccn_conf_rewrite();
  rewrite->set_device(id);
  rewrite->set_setting(setting);
  rewrite->set_in_file(in_file);
  rewrite->set_live(live);
  step->set_precondition(absl::StrCat("device ", id, " has ", what, " ", live));
  step->set_undo("hccn.conf byte for byte");
}

void DevicePlanner::Plan(const ServerSpec& server) {
  for (const DeviceSpec& device : server.devices()) Collect(device);
  BlockTaken();
  Order();
  for (const DeviceChange& change : changes_) {
    PlanAddress(change);
    PlanGateway(change);
    PlanDetect(change);
  }
}

// A line of hccn.conf that stops the tool and that no program should repair.
std::string WhyConfStops(const HccnConf& conf) {
  for (const HccnConf::Problem& problem : conf.problems()) {
    if (IsRepairable(problem)) continue;
    switch (problem.kind()) {
      case HccnConf::Problem::MALFORMED_ROUTE:
      case HccnConf::Problem::LINE_TOO_LONG:
      case HccnConf::Problem::FILE_TOO_LARGE:
        return absl::StrCat("/etc/hccn.conf line ", problem.line(), " is ",
                            HccnConf::Problem::Kind_Name(problem.kind()),
                            ", which breaks the tool's next write");
      default:
        break;
    }
  }
  return "";
}

}  // namespace

std::string WhyNoSetCommands(const HostFacts& facts) {
  if (facts.hccn_tool().path().state_case() != TextFact::kValue) {
    return absl::StrCat("hccn_tool: ",
                        MissingText(facts.hccn_tool().path().missing()));
  }
  if (facts.hccn_tool().generation() == NpuToolFacts::ASCEND_950) {
    return "the set commands of the Ascend 950 hccn_tool are not known";
  }
  if (facts.hccn_conf().state_case() != HccnConfFact::kValue) {
    return absl::StrCat("/etc/hccn.conf: ",
                        MissingText(facts.hccn_conf().missing()));
  }
  return WhyConfStops(facts.hccn_conf().value());
}

void PlanDeviceSteps(const ClusterSpec& spec, const ServerSpec& server,
                     HostPlanBuilder* plan) {
  std::vector<uint32_t> ids;
  for (const DeviceSpec& device : server.devices()) {
    if (AsksForSomething(device)) ids.push_back(device.id());
  }
  const std::string why = WhyNoSetCommands(plan->facts());
  if (!why.empty()) {
    if (ids.empty()) return;
    plan->Block(CHANGE_DEVICE_ADDRESS, ids, "device addresses", why,
                "repair that by hand, then plan again");
    return;
  }
  DevicePlanner(spec, plan).Plan(server);
}

}  // namespace clusterd
