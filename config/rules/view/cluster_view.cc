#include "config/rules/view/cluster_view.h"

#include <algorithm>
#include <iterator>
#include <type_traits>

#include "absl/algorithm/container.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "config/words/subject_text.h"

namespace clusterd {
namespace {

std::optional<Ipv4Address> AddressOf(const std::string& text) {
  if (text.empty()) return std::nullopt;
  const absl::StatusOr<Ipv4Address> parsed = Ipv4Address::Parse(text);
  return parsed.ok() ? std::make_optional(*parsed) : std::nullopt;
}

using Interfaces = absl::InlinedVector<Ipv4Interface, 2>;

// The value of a known fact of each kind.
absl::StatusOr<Interfaces> ValueOf(const DeviceAddressFact& fact) {
  Interfaces interfaces;
  for (const Ipv4Setting& setting : fact.value().settings()) {
    const absl::StatusOr<Ipv4Interface> parsed =
        Ipv4Interface::Parse(setting.address(), setting.netmask());
    if (!parsed.ok()) {
      return absl::UnknownError(
          QuotedText(absl::StrCat(setting.address(), " ", setting.netmask())));
    }
    interfaces.push_back(*parsed);
    if (interfaces.size() == kMaxAddressesOfDevice) break;
  }
  return interfaces;
}

absl::StatusOr<Ipv4Address> ValueOf(const TextFact& fact) {
  // The tool prints nothing without a gateway, 0.0.0.0 for a detect address.
  if (fact.value().empty()) return Ipv4Address();
  if (const auto address = AddressOf(fact.value())) return *address;
  return absl::UnknownError(QuotedText(fact.value()));
}

// An unknown enum value of a newer host is not a value.
template <typename Enum>
absl::StatusOr<Enum> Valid(Enum value, bool is_valid) {
  if (is_valid && static_cast<int>(value) != 0) return value;
  return absl::UnknownError("");
}

absl::StatusOr<LinkFact::Link> ValueOf(const LinkFact& fact) {
  return Valid(fact.value(), LinkFact::Link_IsValid(fact.value()));
}
absl::StatusOr<RecoveryFact::Recovery> ValueOf(const RecoveryFact& fact) {
  return Valid(fact.value(), RecoveryFact::Recovery_IsValid(fact.value()));
}
absl::StatusOr<NetHealth> ValueOf(const NetHealthFact& fact) {
  return Valid(fact.value(), NetHealth_IsValid(fact.value()));
}
bool ValueOf(const LldpFact& fact) { return fact.value().heard(); }
bool ValueOf(const TlsFact& fact) { return fact.value().enabled(); }
uint64_t ValueOf(const NumberFact& fact) { return fact.value(); }

// The value of a fact that needs no conversion.
template <typename Value, typename Fact>
absl::StatusOr<Value> ValueAs(const Fact& fact) {
  if constexpr (std::is_same_v<Value, absl::string_view>) {
    return fact.value();
  } else if constexpr (std::is_pointer_v<Value>) {
    return &fact.value();
  } else {
    return ValueOf(fact);
  }
}

// Results of the queries about one device, or those of one host.
struct Queries {
  bool any_answered = false;
  bool all_failed = true;
  const Missing* first_missing = nullptr;
};

template <typename Fact, typename Value>
void Read(const Fact& fact, DeviceView* device, Queries* queries,
          Reading<Value>* reading) {
  if (IsKnown(fact)) {
    queries->any_answered = true;
    absl::StatusOr<Value> value = ValueAs<Value>(fact);
    reading->misread = value.status();
    if (value.ok()) reading->emplace(*std::move(value));
    return;
  }
  const Missing* missing = MissingOf(fact);
  reading->missing = missing;
  if (queries->first_missing == nullptr) queries->first_missing = missing;
  if (missing == nullptr || missing->reason() != Missing::TOOL_FAILED) {
    queries->all_failed = false;
  }
  if (device->silence == nullptr && missing != nullptr &&
      (missing->reason() == Missing::TIMED_OUT ||
       missing->reason() == Missing::BUSY)) {
    device->silence = missing;
  }
}

// Shortcut: nearly every device has the planned one, which is parsed already.
std::optional<Ipv4Address> PlannedAddress(const std::string& planned,
                                          const TextFact& fact,
                                          const AddressReading& live) {
  if (live.IsSet() && planned == fact.value()) return *live;
  return AddressOf(planned);
}

// REQUIRES: the device's own addresses are read.
void ReadPlan(const DeviceSpec& spec, DeviceView* device) {
  const DeviceFacts& facts = *device->facts;
  const auto& settings = facts.address().value().settings();
  if (device->HasAddress() && settings[0].address() == spec.address() &&
      settings[0].netmask() == spec.netmask()) {
    device->planned = device->interfaces().front();
  } else if (!spec.address().empty()) {
    const auto planned = Ipv4Interface::Parse(spec.address(), spec.netmask());
    if (planned.ok()) device->planned = *planned;
  }
  device->planned_gateway =
      PlannedAddress(spec.gateway(), facts.gateway(), device->gateway);
  device->planned_detect = PlannedAddress(
      spec.detect_address(), facts.detect_address(), device->detect_address);
}

// Marks a mute device, and a dead one, about which the tool always failed.
void JudgeSilence(const Queries& queries, DeviceView* device) {
  device->mute = !queries.any_answered && queries.first_missing != nullptr;
  if (!device->mute) return;
  if (device->silence == nullptr) device->silence = queries.first_missing;
  // A mute device has not reported a missing neighbour either.
  device->neighbour_heard.reset();
  device->neighbour_heard.missing = device->silence;
  // If the tool could not be started, nothing more was asked, and all facts
  // have that one reason.
  const DeviceFacts& facts = *device->facts;
  device->dead =
      queries.all_failed && facts.address().missing().detail() !=
                                facts.net_health().missing().detail();
}

// Roughly in the order of the queries: the first time-out says most.
Queries ReadDevice(DeviceView* device) {
  const DeviceFacts& facts = *device->facts;
  Queries queries;
  Read(facts.address(), device, &queries, &device->addresses);
  Read(facts.gateway(), device, &queries, &device->gateway);
  Read(facts.detect_address(), device, &queries, &device->detect_address);
  Read(facts.net_health(), device, &queries, &device->net_health);
  Read(facts.link(), device, &queries, &device->link);
  // These do not prove that the tool answers: a silent one names no neighbour,
  // hccn.conf may have the TLS switch, and some tools lack the last queries.
  Queries unproven;
  const bool nobody = IsKnown(facts.lldp()) && !facts.lldp().value().heard();
  Read(facts.lldp(), device, nobody ? &unproven : &queries,
       &device->neighbour_heard);
  Read(facts.mtu(), device, &queries, &device->mtu);
  Read(facts.tls(), device, &unproven, &device->tls_enabled);
  Read(facts.recovery(), device, &unproven, &device->recovery);
  Read(facts.speed_mbps(), device, &unproven, &device->speed);
  Read(facts.vnic(), device, &unproven, &device->vnic);
  Read(facts.pfc(), device, &unproven, &device->pfc);
  Read(facts.dscp_to_tc(), device, &unproven, &device->dscp_to_tc);
  Read(facts.priority_to_tc(), device, &unproven, &device->priority_to_tc);
  Read(facts.roce_port(), device, &unproven, &device->roce_port);
  Read(facts.optical(), device, &unproven, &device->optical);
  Read(facts.link_history(), device, &unproven, &device->link_history);
  Read(facts.counter_rises(), device, &unproven, &device->counter_rises);
  JudgeSilence(queries, device);
  if (device->spec != nullptr) ReadPlan(*device->spec, device);
  return queries;
}

// Device is DeviceView, const or not.
template <typename Device>
Device* FindDevice(absl::Span<Device> devices, uint32_t id) {
  // Shortcut: nearly every host has devices 0..N-1.
  if (id < devices.size() && devices[id].id == id) return &devices[id];
  return FirstWith(devices, &DeviceView::id, id);
}

// A device's members for its lines of each key; rules read no other keys.
constexpr struct ConfKey {
  absl::string_view key;
  const HccnConf::Entry* DeviceView::*entry;
} kConfKeys[] = {{"address", &DeviceView::conf_address},
                 {"netmask", &DeviceView::conf_netmask},
                 {"gateway", &DeviceView::conf_gateway},
                 {"netdetect", &DeviceView::conf_detect},
                 {"udhcpc_enable", &DeviceView::conf_dhcp},
                 {"tls_enable", &DeviceView::conf_tls},
                 {"mtu", &DeviceView::conf_mtu},
                 {"bitmap", &DeviceView::conf_pfc},
                 {"roce_port", &DeviceView::conf_roce_port},
                 {"udp_port_mode", &DeviceView::conf_port_mode},
                 {"dscp_tc", &DeviceView::conf_dscp}};

void ReadConf(const HostFacts& facts, absl::Span<DeviceView> devices) {
  for (const HccnConf::Entry& entry : facts.hccn_conf().value().entries()) {
    const auto* known = FirstWith(kConfKeys, &ConfKey::key, entry.key());
    if (!entry.has_device() || known == nullptr) continue;
    DeviceView* device = FindDevice(devices, entry.device());
    // The tool obeys the first of several lines with one key.
    if (device != nullptr && device->*known->entry == nullptr) {
      device->*known->entry = &entry;
    }
  }
}

// Ids that the host lists or has facts about, ascending, each once.
std::vector<uint32_t> DeviceIds(const HostFacts& facts) {
  std::vector<uint32_t> ids;
  if (IsKnown(facts.device_ids())) {
    const auto& found = facts.device_ids().value().ids();
    ids.assign(found.begin(), found.end());
  }
  for (const DeviceFacts& device : facts.devices()) ids.push_back(device.id());
  if (!absl::c_is_sorted(ids)) absl::c_sort(ids);
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
  if (ids.size() > kMaxDevicesOfHost) ids.resize(kMaxDevicesOfHost);
  return ids;
}

// REQUIRES: `devices` have their ids.
Queries ReadDevices(const HostFacts& facts, const ServerSpec* spec,
                    absl::Span<DeviceView> devices) {
  for (const DeviceFacts& found : facts.devices()) {
    DeviceView* device = FindDevice(devices, found.id());
    if (device != nullptr) device->facts = &found;
  }
  if (spec != nullptr) {
    for (const DeviceSpec& planned : spec->devices()) {
      DeviceView* device = FindDevice(devices, planned.id());
      if (device != nullptr) device->spec = &planned;
    }
  }
  Queries all;
  for (DeviceView& device : devices) {
    const Queries queries = ReadDevice(&device);
    all.any_answered = all.any_answered || queries.any_answered;
    if (all.first_missing == nullptr) all.first_missing = queries.first_missing;
  }
  // If all devices' queries fail, the tool may be broken instead.
  for (DeviceView& device : devices) {
    device.dead = device.dead && all.any_answered;
  }
  ReadConf(facts, devices);
  return all;
}

size_t ExpectedDevices(const ServerSpec* spec, const ProductProfile& profile,
                       size_t found) {
  const size_t planned = spec == nullptr ? 0 : spec->devices_size();
  return std::max(found, planned > 0 ? planned : profile.device_ids.size());
}

// Name, facts, spec and order of every host; those without a spec come last.
std::vector<HostView> InSpecOrder(const ClusterSpec& spec,
                                  absl::Span<const HostFacts* const> hosts) {
  absl::flat_hash_map<absl::string_view, uint32_t> place_of;
  place_of.reserve(spec.servers_size());
  for (int i = 0; i < spec.servers_size(); ++i) {
    place_of.emplace(spec.servers(i).host(), i);
  }
  std::vector<HostView> ordered(hosts.size());
  for (size_t i = 0; i < hosts.size(); ++i) {
    HostView& host = ordered[i];
    host.name = hosts[i]->host();
    host.facts = hosts[i];
    const auto found = place_of.find(host.name);
    host.order = found == place_of.end() ? UINT32_MAX : found->second;
    if (found == place_of.end()) continue;
    host.spec = &spec.servers(found->second);
    host.address = AddressOf(host.spec->address());
  }
  std::stable_sort(
      ordered.begin(), ordered.end(),
      [](const HostView& a, const HostView& b) { return a.order < b.order; });
  for (size_t i = 0; i < ordered.size(); ++i) ordered[i].order = i;
  return ordered;
}

size_t MostDevices(const HostFacts& facts) {
  const size_t most =
      facts.device_ids().value().ids_size() + facts.devices_size();
  return std::min<size_t>(most, kMaxDevicesOfHost);
}

}  // namespace

absl::Span<const Ipv4Interface> DeviceView::interfaces() const {
  return addresses.has_value() ? absl::MakeConstSpan(*addresses)
                               : absl::Span<const Ipv4Interface>();
}

bool DeviceView::Has(const Ipv4Interface& interface) const {
  return absl::c_linear_search(interfaces(), interface);
}

Ipv4Interface DeviceView::Address() const {
  return HasPlannedAddress() ? *planned : interfaces().front();
}

const DeviceView* HostView::Find(uint32_t id) const {
  return FindDevice(devices, id);
}

const Waiver* ClusterView::WaiverOf(absl::string_view rule,
                                    absl::string_view cause, State state,
                                    absl::string_view host,
                                    std::optional<uint32_t> device) const {
  const Waiver* found = nullptr;
  for (const absl::string_view of : {absl::string_view(), host}) {
    const auto waivers = waivers_.find(of);
    if (waivers == waivers_.end()) continue;
    for (const Waiver* waiver : waivers->second) {
      const bool is_maintenance = waiver->rule() == kMaintenanceRule;
      const bool covers = is_maintenance
                              ? rule != kMaintenanceRule || state == WARN
                              : waiver->rule() == rule ||
                                    (state == FAIL && waiver->rule() == cause);
      const bool is_there =
          waiver->devices().empty() ||
          (device && absl::c_linear_search(waiver->devices(), *device));
      if (!covers || !is_there) continue;
      if (found == nullptr || is_maintenance) found = waiver;
    }
  }
  return found;
}

ClusterView::ClusterView(const ClusterSpec& spec,
                         absl::Span<const HostFacts* const> hosts,
                         const JobSpec* job, absl::Time now)
    : spec_(spec), job_(job), now_(now) {
  for (const Waiver& waiver : spec.waivers()) {
    if (!IsInForce(waiver, now)) continue;
    if (waiver.hosts().empty()) waivers_[""].push_back(&waiver);
    for (const std::string& host : waiver.hosts()) {
      waivers_[host].push_back(&waiver);
    }
  }
  profile_.title = "an unnamed product";
  const auto profile = FindProductProfile(spec.product(), spec.mode());
  product_known_ = !spec.product().empty() && profile.ok();
  if (product_known_) profile_ = **profile;

  const std::vector<HostView> ordered = InSpecOrder(spec, hosts);
  // HostView points into devices_, which must not move.
  size_t most_devices = 0;
  for (const HostView& host : ordered) most_devices += MostDevices(*host.facts);
  devices_.reserve(most_devices);
  hosts_.reserve(ordered.size());
  for (const HostView& host : ordered) AddHost(host);
}

ClusterView::ClusterView(const ClusterView& live, Addresses addresses)
    : spec_(live.spec_),
      profile_(live.profile_),
      product_known_(live.product_known_),
      devices_(live.devices_),
      unplanned_(live.unplanned_),
      hosts_(live.hosts_),
      silent_(live.silent_),
      expected_devices_(live.expected_devices_),
      job_(live.job_) {
  // Hosts point to their devices, which lie in a row, and devices to hosts.
  DeviceView* next = devices_.data();
  auto unplanned = unplanned_.begin();
  for (HostView& host : hosts_) {
    const absl::Span<DeviceView> devices(next, host.devices.size());
    next += devices.size();
    host.devices = devices;
    for (DeviceView& device : devices) device.host = &host;
    if (host.unplanned.empty()) continue;
    host.unplanned = *unplanned;
    for (DeviceView& device : *unplanned++) device.host = &host;
  }
  if (addresses == Addresses::kLive) return;
  for (DeviceView& device : devices_) {
    if (!device.HasAddress() || !device.planned.has_value()) continue;
    *device.addresses = {*device.planned};
  }
}

void ClusterView::AddHost(HostView host) {
  const HostFacts& facts = *host.facts;
  if (facts.has_missing()) {
    expected_devices_ += ExpectedDevices(host.spec, profile_, 0);
    return silent_.push_back(host);
  }
  const size_t begin = devices_.size();
  for (const uint32_t id : DeviceIds(facts)) {
    devices_.emplace_back();
    devices_.back().id = id;
  }
  // Unplanned ones are read, too: their answers show that the tool works.
  const Queries queries =
      ReadDevices(facts, host.spec, absl::MakeSpan(devices_).subspan(begin));
  if (host.spec != nullptr && host.spec->devices_size() > 0) {
    const auto unplanned = std::stable_partition(
        devices_.begin() + begin, devices_.end(),
        [](const DeviceView& device) { return device.spec != nullptr; });
    if (unplanned != devices_.end()) {
      unplanned_.emplace_back(std::make_move_iterator(unplanned),
                              std::make_move_iterator(devices_.end()));
      devices_.erase(unplanned, devices_.end());
      host.unplanned = unplanned_.back();
    }
  }
  const absl::Span<DeviceView> devices =
      absl::MakeSpan(devices_).subspan(begin);
  host.devices = devices;
  const NpuToolFacts& tool = facts.hccn_tool();
  host.tool_usable =
      IsKnown(tool.path()) &&
      (!product_known_ || tool.generation() == profile_.generation);
  if (host.tool_usable && !queries.any_answered) {
    host.tool_silence = queries.first_missing;
    host.tool_usable = host.tool_silence == nullptr;
  }
  expected_devices_ += ExpectedDevices(host.spec, profile_, devices.size());
  hosts_.push_back(host);
  for (DeviceView& device : devices) device.host = &hosts_.back();
  if (host.unplanned.empty()) return;
  for (DeviceView& device : unplanned_.back()) device.host = &hosts_.back();
}

absl::string_view RepairedValue(const HostView& host,
                                const HccnConf::Entry& entry) {
  absl::string_view value = entry.value();
  for (const HccnConf::Problem& problem :
       host.facts->hccn_conf().value().problems()) {
    // For every entry: the list of problems may be cut. clusterd shows the
    // control character as two.
    if (problem.kind() == HccnConf::Problem::CARRIAGE_RETURN &&
        !absl::ConsumeSuffix(&value, "\\r")) {
      absl::ConsumeSuffix(&value, "\r");
    }
    if (problem.kind() != HccnConf::Problem::TRAILING_BLANK) continue;
    while (absl::ConsumeSuffix(&value, " ") ||
           absl::ConsumeSuffix(&value, "\\t")) {
    }
  }
  return value;
}

absl::string_view SwitchKey(const LldpNeighbour& neighbour) {
  if (!neighbour.chassis_id().empty()) return neighbour.chassis_id();
  return neighbour.system_name().empty() ? neighbour.management_address()
                                         : neighbour.system_name();
}

const DeviceView* GatewayKeeper(const ClusterView& view,
                                const DeviceView& device) {
  // A gateway stored for a device is its own.
  const bool may_be_shared =
      device.gateway.IsUnset() || device.conf_gateway == nullptr;
  if (!may_be_shared) return nullptr;
  const auto keeps = [&](const DeviceView& other) {
    if (other.id == device.id || !other.gateway.IsSet() ||
        !other.HasAddress() ||
        !ShareGateway(view.profile(), other.id, device.id)) {
      return false;
    }
    const Ipv4Address gateway = *other.gateway;
    const bool is_same = device.gateway.IsUnset() || device.gateway == gateway;
    const bool is_planned =
        other.planned_gateway.value_or(gateway) == gateway ||
        device.planned_gateway == gateway;
    return is_same && is_planned && other.Address().subnet().Contains(gateway);
  };
  for (const auto& devices : {device.host->devices, device.host->unplanned}) {
    const auto keeper = absl::c_find_if(devices, keeps);
    if (keeper != devices.end()) return &*keeper;
  }
  return nullptr;
}

}  // namespace clusterd
