#include "config/rules/cluster_view.h"

#include <algorithm>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

namespace clusterd {
namespace {

std::optional<Ipv4Address> AddressOf(const std::string& text) {
  if (text.empty()) return std::nullopt;
  const absl::StatusOr<Ipv4Address> parsed = Ipv4Address::Parse(text);
  return parsed.ok() ? std::make_optional(*parsed) : std::nullopt;
}

// What a known fact of each kind tells; nothing where it is not understood.
std::optional<absl::InlinedVector<Ipv4Interface, 2>> ValueOf(
    const DeviceAddressFact& fact) {
  absl::InlinedVector<Ipv4Interface, 2> interfaces;
  for (const Ipv4Setting& setting : fact.value().settings()) {
    const absl::StatusOr<Ipv4Interface> parsed =
        Ipv4Interface::Parse(setting.address(), setting.netmask());
    if (!parsed.ok()) return std::nullopt;
    interfaces.push_back(*parsed);
    if (interfaces.size() == kMaxAddressesOfDevice) break;
  }
  return interfaces;
}

std::optional<Ipv4Address> ValueOf(const TextFact& fact) {
  // The tool says nothing where no gateway is set, 0.0.0.0 of a detect address.
  return fact.value().empty() ? Ipv4Address() : AddressOf(fact.value());
}

std::optional<LinkFact::Link> ValueOf(const LinkFact& fact) {
  const LinkFact::Link link = fact.value();
  if (link == LinkFact::LINK_UNSPECIFIED) return std::nullopt;
  return LinkFact::Link_IsValid(link) ? std::make_optional(link) : std::nullopt;
}

std::optional<NetHealth> ValueOf(const NetHealthFact& fact) {
  const NetHealth health = fact.value();
  if (health == NET_HEALTH_UNSPECIFIED) return std::nullopt;
  return NetHealth_IsValid(health) ? std::make_optional(health) : std::nullopt;
}

bool ValueOf(const LldpFact& fact) { return fact.value().heard(); }
bool ValueOf(const TlsFact& fact) { return fact.value().enabled(); }
uint64_t ValueOf(const NumberFact& fact) { return fact.value(); }

// Also remembers that the tool gave no answer.
template <typename Fact, typename Value>
void Read(const Fact& fact, DeviceView* device, Reading<Fact, Value>* reading) {
  reading->fact = &fact;
  if (IsKnown(fact)) {
    static_cast<std::optional<Value>&>(*reading) = ValueOf(fact);
    return;
  }
  const Missing* missing = MissingOf(fact);
  if (device->silence == nullptr && missing != nullptr &&
      (missing->reason() == Missing::TIMED_OUT ||
       missing->reason() == Missing::BUSY)) {
    device->silence = missing;
  }
}

void ReadPlan(const DeviceSpec& spec, DeviceView* device) {
  if (!spec.address().empty()) {
    const absl::StatusOr<Ipv4Interface> planned =
        Ipv4Interface::Parse(spec.address(), spec.netmask());
    if (planned.ok()) device->planned = *planned;
  }
  device->planned_gateway = AddressOf(spec.gateway());
  device->planned_detect = AddressOf(spec.detect_address());
}

void ReadDevice(DeviceView* device) {
  const DeviceFacts& facts = *device->facts;
  Read(facts.address(), device, &device->addresses);
  Read(facts.gateway(), device, &device->gateway);
  Read(facts.detect_address(), device, &device->detect_address);
  Read(facts.link(), device, &device->link);
  Read(facts.net_health(), device, &device->net_health);
  Read(facts.lldp(), device, &device->neighbour_heard);
  Read(facts.tls(), device, &device->tls_enabled);
  Read(facts.mtu(), device, &device->mtu);
  if (device->spec != nullptr) ReadPlan(*device->spec, device);
}

// Device is DeviceView, const or not.
template <typename Device>
Device* FindDevice(absl::Span<Device> devices, uint32_t id) {
  // Nearly every host has devices 0..N-1, so look there first.
  if (id < devices.size() && devices[id].id == id) return &devices[id];
  const auto found =
      std::lower_bound(devices.begin(), devices.end(), id,
                       [](const DeviceView& device, uint32_t wanted) {
                         return device.id < wanted;
                       });
  if (found == devices.end() || found->id != id) return nullptr;
  return &*found;
}

// Where a device keeps its line of a key; rules read no other keys.
constexpr struct {
  absl::string_view key;
  const HccnConf::Entry* DeviceView::*entry;
} kConfKeys[] = {{"address", &DeviceView::conf_address},
                 {"netmask", &DeviceView::conf_netmask},
                 {"gateway", &DeviceView::conf_gateway},
                 {"netdetect", &DeviceView::conf_detect},
                 {"udhcpc_enable", &DeviceView::conf_dhcp},
                 {"tls_enable", &DeviceView::conf_tls}};

void ReadConf(const HostFacts& facts, absl::Span<DeviceView> devices) {
  for (const HccnConf::Entry& entry : facts.hccn_conf().value().entries()) {
    if (!entry.has_device()) continue;
    for (const auto& known : kConfKeys) {
      if (entry.key() != known.key) continue;
      DeviceView* device = FindDevice(devices, entry.device());
      // The tool obeys the first of several lines with one key.
      if (device != nullptr && device->*known.entry == nullptr) {
        device->*known.entry = &entry;
      }
      break;
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

// REQUIRES: `devices` have their ids, ascending.
void ReadDevices(const HostFacts& facts, const ServerSpec* spec,
                 absl::Span<DeviceView> devices) {
  for (DeviceView& device : devices) {
    device.facts = &DeviceFacts::default_instance();
  }
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
  for (DeviceView& device : devices) ReadDevice(&device);
  ReadConf(facts, devices);
}

// hccn.conf may tell the TLS switch, so that one proves nothing.
template <typename Visit>
void ForEachAnswer(const DeviceFacts& facts, Visit visit) {
  visit(facts.address());
  visit(facts.gateway());
  visit(facts.detect_address());
  visit(facts.net_health());
  visit(facts.link());
  visit(facts.lldp());
  visit(facts.mtu());
}

const Missing* ToolSilence(absl::Span<const DeviceView> devices) {
  const Missing* silence = nullptr;
  for (const DeviceView& device : devices) {
    bool answered = false;
    ForEachAnswer(*device.facts, [&](const auto& fact) {
      answered = answered || IsKnown(fact);
      if (silence == nullptr) silence = MissingOf(fact);
    });
    if (answered) return nullptr;
  }
  return silence;
}

size_t ExpectedDevices(const ServerSpec* spec, const ProductProfile& profile,
                       size_t found) {
  const size_t planned = spec == nullptr ? 0 : spec->devices_size();
  return std::max(found, planned > 0 ? planned : profile.device_ids.size());
}

// Name, facts, spec and order of every host, those that the spec does not name
// last.
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
    if (found != place_of.end()) host.spec = &spec.servers(found->second);
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

ClusterView::ClusterView(const ClusterSpec& spec,
                         absl::Span<const HostFacts* const> hosts)
    : spec_(spec) {
  profile_.title = "a product that the spec does not name";
  const absl::StatusOr<const ProductProfile*> profile =
      FindProductProfile(spec.product(), spec.mode());
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

void ClusterView::AddHost(HostView host) {
  const HostFacts& facts = *host.facts;
  if (facts.has_missing()) {
    expected_devices_ += ExpectedDevices(host.spec, profile_, 0);
    silent_.push_back(host);
    return;
  }
  const size_t begin = devices_.size();
  for (const uint32_t id : DeviceIds(facts)) {
    devices_.emplace_back();
    devices_.back().id = id;
  }
  const absl::Span<DeviceView> devices =
      absl::MakeSpan(devices_).subspan(begin);
  ReadDevices(facts, host.spec, devices);
  host.devices = devices;
  const NpuToolFacts& tool = facts.hccn_tool();
  host.tool_usable =
      IsKnown(tool.path()) &&
      (!product_known_ || tool.generation() == profile_.generation);
  if (host.tool_usable) host.tool_silence = ToolSilence(host.devices);
  if (host.tool_silence != nullptr) host.tool_usable = false;
  expected_devices_ += ExpectedDevices(host.spec, profile_, devices.size());
  hosts_.push_back(host);
  for (DeviceView& device : devices) device.host = &hosts_.back();
}

std::string WhyNoValue(const DeviceAddressFact& fact) {
  for (const Ipv4Setting& setting : fact.value().settings()) {
    const absl::StatusOr<Ipv4Interface> parsed =
        Ipv4Interface::Parse(setting.address(), setting.netmask());
    if (!parsed.ok()) {
      return absl::StrCat("not understood: ",
                          PrintableText(parsed.status().message()));
    }
  }
  return WhyUnknown(fact);
}

std::string WhyNoValue(const TextFact& fact) {
  return IsKnown(fact)
             ? absl::StrCat("not understood: ", QuotedText(fact.value()))
             : WhyUnknown(fact);
}

absl::string_view RepairedValue(const HostView& host,
                                const HccnConf::Entry& entry) {
  absl::string_view value = entry.value();
  for (const HccnConf::Problem& problem :
       host.facts->hccn_conf().value().problems()) {
    if (problem.kind() != HccnConf::Problem::CARRIAGE_RETURN) continue;
    // clusterd shows the control character as two.
    if (!absl::ConsumeSuffix(&value, "\\r")) absl::ConsumeSuffix(&value, "\r");
    break;
  }
  return value;
}

}  // namespace clusterd
