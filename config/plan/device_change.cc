#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "config/plan/hccn_conf_text.h"
#include "config/plan/step_planners.h"
#include "config/values/hccn_conf_line.h"
#include "config/words/fact_text.h"
#include "config/words/subject_text.h"

namespace clusterd {

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

std::string WhyNoMap(const DeviceSetting& setting, uint32_t device,
                     const HostPlanBuilder& plan) {
  const std::string key = HccnConfKey(setting.conf_keys, device);
  const std::string text = plan.ConfValue(key);
  return !setting.is_map || setting.is_legal(StoredPart(setting, text))
             ? ""
             : absl::StrCat("/etc/hccn.conf has ", key, "=", text,
                            ", which is no such map, and hccn_tool adds to it");
}

TakenGateway TakenBy(const ProductProfile& profile, const HostFacts& facts,
                     uint32_t device) {
  TakenGateway taken;
  for (const HccnConf::Entry& entry : facts.hccn_conf().value().entries()) {
    if (entry.key() != "gateway" || !entry.has_device() ||
        !ShareGateway(profile, entry.device(), device)) {
      continue;
    }
    if (taken.entry == nullptr || entry.device() < taken.entry->device()) {
      taken = {&entry, RepairedEntry(entry).value()};
    }
  }
  const bool is_own = taken.entry != nullptr && taken.entry->device() == device;
  return is_own ? TakenGateway() : taken;
}

namespace {

// Lines of a device over which `-ip -s` fails, and leaves the device half set
// (recorded runs x-ip-set-route-no-equals and x-ip-set-send-arp-bad).
constexpr const char* kReadWithAddress[] = {"ip_route", "send_arp_status",
                                            "send_arp_period"};

// Whether the tool reads the line when it sets the device's address.
bool IsReadWithAddress(absl::string_view line, uint32_t device) {
  const absl::string_view key = HccnConfKeyOf(line);
  return (IsRouteLine(line) &&
          absl::EndsWith(key, absl::StrCat("_", device))) ||
         absl::c_any_of(kReadWithAddress, [&](const char* name) {
           return key == HccnConfKey(name, device);
         });
}

struct Obstacle {
  std::string why;  // "": there is none.
  std::string fix = kCorrectTheLine;
};

// The line of hccn.conf that keeps the device from an address that stays.
Obstacle ObstacleOf(uint32_t device, const HostPlanBuilder& plan) {
  const std::string dhcp = HccnConfKey("udhcpc_enable", device);
  if (plan.HasConfLine(dhcp)) {
    return {
        absl::StrCat("/etc/hccn.conf has ", dhcp,
                     ", and whatever its value the device gets its address "
                     "by DHCP"),
        absl::StrCat("for this address release DHCP with hccn_tool -i ", device,
                     " -udhcpc -r, which removes the line; for DHCP name "
                     "no address of the device in the spec; then plan "
                     "again")};
  }
  for (const auto& problem : plan.facts().hccn_conf().value().problems()) {
    if (problem.kind() != HccnConf::Problem::BAD_VALUE ||
        !IsReadWithAddress(problem.text(), device)) {
      continue;
    }
    return {absl::StrCat("/etc/hccn.conf line ", problem.line(), ", ",
                         problem.text(), ": hccn_tool -ip -s fails over it")};
  }
  return {""};
}

constexpr char kCorrectSpec[] = "correct the address in the spec";

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
  DeviceChange change = {&device, FindDevice(plan->facts(), device.id())};
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
    const std::string id = absl::StrCat(device.id());
    const bool is_stored =
        plan->ConfValue("address_" + id) == device.address() &&
        plan->ConfValue("netmask_" + id) == device.netmask();
    const Obstacle obstacle = ObstacleOf(device.id(), *plan);
    if (!obstacle.why.empty() && (change.sets_address() || !is_stored)) {
      return block(obstacle.why, obstacle.fix);
    }
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
               FirstWith(device.address().value().settings(),
                         &Ipv4Setting::address, wanted) != nullptr;
      });
  return holder == facts.devices().end() ? nullptr : &*holder;
}

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
          "so one of them needs another address in between, and which address "
          "is free in its network cannot be told from the cluster alone",
          "give one of these devices an unused address by hand, then plan "
          "again");
  }
  return ordered;
}

}  // namespace

std::vector<DeviceChange> OrderedChanges(const ClusterSpec& spec,
                                         const ServerSpec& server,
                                         HostPlanBuilder* plan) {
  std::vector<DeviceChange> changes;
  for (const DeviceSpec& device : server.devices()) {
    Collect(spec, device, plan, &changes);
  }
  return InOrder(std::move(changes), plan);
}

}  // namespace clusterd
