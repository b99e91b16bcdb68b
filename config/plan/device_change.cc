#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "config/plan/hccn_conf_text.h"
#include "config/plan/step_planners.h"
#include "config/spec/product_profile.h"
#include "config/values/hccn_conf_line.h"
#include "config/values/text_form.h"
#include "config/words/fact_text.h"
#include "config/words/message.h"
#include "config/words/subject_text.h"

namespace clusterd {

Obstruction WhyUnassigned(const ClusterSpec& spec, Ipv4Address address) {
  if (address.IsUnset() || address.IsLoopback() || address.IsMulticast() ||
      address.IsClassE()) {
    return Worded("plan-say-not-a-port-address");
  }
  const auto profile = FindProductProfile(spec.product(), spec.mode());
  if (!profile.ok()) return std::nullopt;
  for (const ReservedSubnet& reserved : (*profile)->reserved) {
    if (reserved.subnet.Contains(address)) {
      return Worded("plan-say-tool-refuses", reserved.subnet.ToString(),
                    Term(reserved.why));
    }
  }
  return std::nullopt;
}

namespace {

// Lines of a device at which `-ip -s` fails, leaving the device half set
// (recorded runs x-ip-set-route-no-equals and x-ip-set-send-arp-bad).
constexpr const char* kReadWithAddress[] = {"ip_route", "send_arp_status",
                                            "send_arp_period"};

// True if the tool reads the line when it sets the device's address.
bool IsReadWithAddress(absl::string_view line, uint32_t device) {
  const absl::string_view key = HccnConfKeyOf(line);
  return (IsRouteLine(line) &&
          absl::EndsWith(key, absl::StrCat("_", device))) ||
         absl::c_any_of(kReadWithAddress, [&](const char* name) {
           return key == HccnConfKey(name, device);
         });
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

struct Obstacle {
  FindingValue why;
  FindingValue fix;
};

// The line of hccn.conf that prevents a lasting address of the device.
std::optional<Obstacle> ObstacleOf(uint32_t device,
                                   const HostPlanBuilder& plan) {
  const std::string dhcp = HccnConfKey("udhcpc_enable", device);
  if (plan.HasConfLine(dhcp)) {
    return Obstacle{Worded("plan-say-address-by-dhcp", dhcp),
                    Worded("plan-say-release-dhcp", device)};
  }
  for (const auto& problem : plan.facts().hccn_conf().value().problems()) {
    if (problem.kind() != HccnConf::Problem::BAD_VALUE ||
        !IsReadWithAddress(problem.text(), device)) {
      continue;
    }
    return Obstacle{
        Worded("plan-say-set-fails-over", problem.line(), problem.text()),
        Worded("plan-say-correct-line")};
  }
  return std::nullopt;
}

// Why no network could work with this address.
Obstruction WhyUnusable(const ClusterSpec& spec, const Ipv4Interface& wanted) {
  const Ipv4Address address = wanted.address();
  const Ipv4Subnet subnet = wanted.subnet();
  if (wanted.prefix_length() == 0) return Worded("plan-say-netmask-zero");
  if (wanted.prefix_length() < 31 &&
      (address == subnet.network() || address == subnet.broadcast())) {
    return Worded("plan-say-first-or-last", subnet.ToString());
  }
  return WhyUnassigned(spec, address);
}

// Reads the live address, if one is set; returns why it is unknown or invalid.
Obstruction ReadLive(const DeviceFacts* facts,
                     std::optional<Ipv4Interface>* live) {
  if (facts == nullptr) return Worded("plan-say-no-such-device");
  if (!IsKnown(facts->address())) {
    return Worded("plan-say-live-not-known", Term("address"),
                  UnknownWords(facts->address()));
  }
  const auto& settings = facts->address().value().settings();
  if (settings.size() > 1) {
    return Worded("plan-say-several-live", settings.size());
  }
  if (settings.empty()) return std::nullopt;
  const auto read =
      Ipv4Interface::Parse(settings[0].address(), settings[0].netmask());
  if (!read.ok()) {
    return Worded("plan-say-live-not-readable", MessageWords(read.status()));
  }
  *live = *read;
  return std::nullopt;
}

// Adds the change of the device's address; blocks it if that is unknown.
void Collect(const ClusterSpec& spec, const DeviceSpec& device,
             HostPlanBuilder* plan, std::vector<DeviceChange>* changes) {
  DeviceChange change = {&device, FindDevice(plan->facts(), device.id())};
  const bool names_one = !device.address().empty();
  const auto block = [&](const FindingValue& why, const FindingValue& fix) {
    plan->Block(CHANGE_DEVICE_ADDRESS, {device.id()},
                names_one ? Worded("plan-say-address-netmask", device.address(),
                                   device.netmask())
                          : Worded("plan-say-network-settings"),
                why, fix);
  };
  const FindingValue correct = Worded("plan-say-correct-address");
  if (const Obstruction unknown = ReadLive(change.facts, &change.live)) {
    // Otherwise the spec requests no address, nor a setting that needs one.
    const bool matters =
        absl::c_any_of(DeviceSettings(), [&](const DeviceSetting& setting) {
          return setting.always_saved && setting.Wanted(spec, device);
        });
    if (matters) block(*unknown, Worded("plan-say-ask-the-tool"));
    return;
  }
  if (names_one) {
    const auto wanted =
        Ipv4Interface::Parse(device.address(), device.netmask());
    if (!wanted.ok()) return block(MessageWords(wanted.status()), correct);
    const Obstruction why = WhyUnusable(spec, *wanted);
    if (why) return block(*why, correct);
    change.wanted = *wanted;
    const std::string id = absl::StrCat(device.id());
    const bool is_stored =
        plan->ConfValue("address_" + id) == device.address() &&
        plan->ConfValue("netmask_" + id) == device.netmask();
    const auto obstacle = ObstacleOf(device.id(), *plan);
    if (obstacle && (change.sets_address() || !is_stored)) {
      return block(obstacle->why, obstacle->fix);
    }
  }
  changes->push_back(change);
}

// The first other device with the address of this change; nullptr: it is free.
// `moved`: devices that will have given up their address by then.
const DeviceFacts* FindHolder(const DeviceChange& change,
                              const HostFacts& facts,
                              const std::set<uint32_t>& moved) {
  if (!change.sets_address()) return nullptr;
  const std::string wanted = change.wanted->address().ToString();
  const auto holder =
      absl::c_find_if(facts.devices(), [&](const DeviceFacts& device) {
        return device.id() != change.id() && moved.count(device.id()) == 0 &&
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
      return other.sets_address() && other.id() == holder.id();
    });
  };
  const auto block = [plan](const DeviceChange& change, const FindingValue& why,
                            absl::string_view fix) {
    plan->Block(
        CHANGE_DEVICE_ADDRESS, {change.id()},
        Worded("plan-say-value", Term("address"), change.spec->address()), why,
        Worded(fix));
  };
  while (true) {
    const DeviceFacts* holder = nullptr;
    const auto next = absl::c_find_if(waiting, [&](const DeviceChange& change) {
      holder = FindHolder(change, plan->facts(), moved);
      return holder == nullptr || keeps_it(*holder);
    });
    if (next == waiting.end()) break;
    if (holder == nullptr) {
      if (next->sets_address()) moved.insert(next->id());
      ordered.push_back(*next);
    } else {
      block(*next, Worded("plan-say-another-keeps-it", holder->id()),
            "plan-say-correct-either");
    }
    waiting.erase(next);
  }
  for (const DeviceChange& change : waiting) {
    block(change, Worded("plan-say-circle"), "plan-say-break-circle");
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

void AddDropped(const DeviceChange& change, bool may_set,
                const HostPlanBuilder& plan, PlanStep* step) {
  const uint32_t id = change.id();
  const Ipv4Subnet subnet = change.wanted->subnet();
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
    AddConsequence(
        Worded("plan-say-tool-deletes",
               absl::StrCat(HccnConfKey(entry.key(), id), "=", entry.value()),
               subnet.ToString()),
        step);
  }
  const std::string& gateway = change.facts->gateway().value();
  const auto live = Ipv4Address::Parse(gateway);
  const bool is_stored = !plan.ConfValue(HccnConfKey("gateway", id)).empty();
  if (!sets_gateway && live.ok() && !subnet.Contains(*live) && !is_stored) {
    AddConsequence(Worded("plan-say-gateway-lost", gateway, subnet.ToString()),
                   step);
  } else if (!may_set && live.ok() && !is_stored) {
    AddConsequence(Worded("plan-say-gateway-may-go", gateway), step);
  }
  if (change.live) AddConsequence(Worded("plan-say-unseen-routes"), step);
}

}  // namespace clusterd
