#include "config/rules/cluster_view.h"

#include <algorithm>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "config/rules/fact_text.h"

namespace clusterd {
namespace {

// A text fact that holds an address; "" and 0.0.0.0 mean that none is set.
Known ReadAddress(const TextFact& fact, Ipv4Address* address) {
  if (!IsKnown(fact)) return Known::kNo;
  if (fact.value().empty()) return Known::kUnset;
  const absl::StatusOr<Ipv4Address> parsed = Ipv4Address::Parse(fact.value());
  if (!parsed.ok()) return Known::kNo;
  *address = *parsed;
  return parsed->IsUnset() ? Known::kUnset : Known::kYes;
}

void ReadInterfaces(DeviceView* device) {
  const DeviceAddressFact& fact = device->facts->address();
  if (!IsKnown(fact)) return;
  for (const Ipv4Setting& setting : fact.value().settings()) {
    const absl::StatusOr<Ipv4Interface> parsed =
        Ipv4Interface::Parse(setting.address(), setting.netmask());
    if (!parsed.ok()) {
      device->interfaces.clear();
      return;
    }
    device->interfaces.push_back(*parsed);
    if (device->interfaces.size() == kMaxAddressesOfDevice) break;
  }
  device->address_known =
      device->interfaces.empty() ? Known::kUnset : Known::kYes;
}

// Remembers that the tool gave no answer for one of the facts.
template <typename Fact>
bool Read(const Fact& fact, DeviceView* device) {
  if (IsKnown(fact)) return true;
  const Missing* missing = MissingOf(fact);
  if (device->silence == nullptr && missing != nullptr &&
      (missing->reason() == Missing::TIMED_OUT ||
       missing->reason() == Missing::BUSY)) {
    device->silence = missing;
  }
  return false;
}

std::optional<Ipv4Address> ReadPlanned(const std::string& text) {
  if (text.empty()) return std::nullopt;
  const absl::StatusOr<Ipv4Address> parsed = Ipv4Address::Parse(text);
  if (!parsed.ok()) return std::nullopt;
  return *parsed;
}

std::optional<Ipv4Interface> ReadInterface(const std::string& address,
                                           const std::string& netmask) {
  const absl::StatusOr<Ipv4Interface> parsed =
      Ipv4Interface::Parse(address, netmask);
  if (!parsed.ok()) return std::nullopt;
  return *parsed;
}

void ReadPlan(const DeviceSpec& spec, DeviceView* device) {
  if (!spec.address().empty()) {
    device->planned = ReadInterface(spec.address(), spec.netmask());
  }
  device->planned_gateway = ReadPlanned(spec.gateway());
  device->planned_detect = ReadPlanned(spec.detect_address());
}

void ReadDevice(DeviceView* device) {
  const DeviceFacts& facts = *device->facts;
  Read(facts.address(), device);
  Read(facts.gateway(), device);
  Read(facts.detect_address(), device);
  ReadInterfaces(device);
  device->gateway_known = ReadAddress(facts.gateway(), &device->gateway);
  device->detect_known = ReadAddress(facts.detect_address(), &device->detect);
  if (Read(facts.link(), device) &&
      LinkFact::Link_IsValid(facts.link().value())) {
    device->link = static_cast<uint8_t>(facts.link().value());
  }
  if (Read(facts.net_health(), device) &&
      NetHealth_IsValid(facts.net_health().value())) {
    device->net_health = static_cast<uint8_t>(facts.net_health().value());
  }
  if (Read(facts.lldp(), device)) {
    device->lldp_heard = facts.lldp().value().heard() ? 2 : 1;
  }
  if (Read(facts.tls(), device)) {
    device->tls_enabled = facts.tls().value().enabled() ? 2 : 1;
  }
  if (Read(facts.mtu(), device)) device->mtu = facts.mtu().value();
  if (device->spec != nullptr) ReadPlan(*device->spec, device);
}

void SortUnique(std::vector<uint32_t>* ids) {
  if (!std::is_sorted(ids->begin(), ids->end())) {
    std::sort(ids->begin(), ids->end());
  }
  ids->erase(std::unique(ids->begin(), ids->end()), ids->end());
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

using ConfSlot = const HccnConf::Entry* DeviceView::*;

// Where a device keeps its line of this key; nullptr: no rule reads the key.
ConfSlot FindConfSlot(absl::string_view key) {
  if (key == "address") return &DeviceView::conf_address;
  if (key == "netmask") return &DeviceView::conf_netmask;
  if (key == "gateway") return &DeviceView::conf_gateway;
  if (key == "netdetect") return &DeviceView::conf_detect;
  if (key == "udhcpc_enable") return &DeviceView::conf_dhcp;
  return nullptr;
}

void ReadConf(const HostFacts& facts, absl::Span<DeviceView> devices) {
  if (!IsKnown(facts.hccn_conf())) return;
  for (const HccnConf::Entry& entry : facts.hccn_conf().value().entries()) {
    if (!entry.has_device()) continue;
    const ConfSlot slot_of = FindConfSlot(entry.key());
    if (slot_of == nullptr) continue;
    DeviceView* device = FindDevice(devices, entry.device());
    if (device == nullptr) continue;
    // The tool obeys the first of several lines with one key.
    const HccnConf::Entry*& slot = device->*slot_of;
    if (slot == nullptr) slot = &entry;
  }
  for (DeviceView& device : devices) {
    if (device.conf_address == nullptr || device.conf_netmask == nullptr) {
      continue;
    }
    device.conf = ReadInterface(device.conf_address->value(),
                                device.conf_netmask->value());
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
  SortUnique(&ids);
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

// `generation`: what the product needs; unset: any.
bool ToolIsUsable(const NpuToolFacts& tool,
                  std::optional<NpuToolFacts::Generation> generation) {
  return IsKnown(tool.path()) &&
         (!generation.has_value() || tool.generation() == *generation);
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

struct Placed {
  uint32_t place;  // In the spec; UINT32_MAX for hosts that it does not name.
  const HostFacts* facts;
  const ServerSpec* server;
};

std::vector<Placed> InSpecOrder(const ClusterSpec& spec,
                                absl::Span<const HostFacts* const> hosts) {
  absl::flat_hash_map<absl::string_view, uint32_t> place_of;
  place_of.reserve(spec.servers_size());
  for (int i = 0; i < spec.servers_size(); ++i) {
    place_of.emplace(spec.servers(i).host(), i);
  }
  std::vector<Placed> placed;
  placed.reserve(hosts.size());
  for (const HostFacts* facts : hosts) {
    const auto found = place_of.find(facts->host());
    if (found == place_of.end()) {
      placed.push_back({UINT32_MAX, facts, nullptr});
    } else {
      placed.push_back({found->second, facts, &spec.servers(found->second)});
    }
  }
  std::stable_sort(
      placed.begin(), placed.end(),
      [](const Placed& a, const Placed& b) { return a.place < b.place; });
  return placed;
}

size_t MostDevices(const HostFacts& facts) {
  const size_t most =
      facts.device_ids().value().ids_size() + facts.devices_size();
  return std::min<size_t>(most, kMaxDevicesOfHost);
}

}  // namespace

Ipv4Interface DeviceView::Address() const {
  return HasPlannedAddress() ? *planned : interfaces.front();
}

bool DeviceView::HasPlannedAddress() const {
  return planned.has_value() && std::find(interfaces.begin(), interfaces.end(),
                                          *planned) != interfaces.end();
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

  const std::vector<Placed> placed = InSpecOrder(spec, hosts);
  // HostView points into devices_, which must not move.
  size_t most_devices = 0;
  for (const Placed& host : placed) most_devices += MostDevices(*host.facts);
  devices_.reserve(most_devices);
  hosts_.reserve(placed.size());
  for (uint32_t order = 0; order < placed.size(); ++order) {
    AddHost(*placed[order].facts, placed[order].server, order);
  }
}

void ClusterView::AddHost(const HostFacts& facts, const ServerSpec* server,
                          uint32_t order) {
  if (facts.has_missing()) {
    silent_.push_back({&facts, order});
    expected_devices_ += ExpectedDevices(server, profile_, 0);
    return;
  }
  const size_t begin = devices_.size();
  for (const uint32_t id : DeviceIds(facts)) {
    devices_.emplace_back();
    devices_.back().id = id;
  }
  const absl::Span<DeviceView> devices =
      absl::MakeSpan(devices_).subspan(begin);
  ReadDevices(facts, server, devices);
  HostView host;
  host.name = facts.host();
  host.facts = &facts;
  host.spec = server;
  host.order = order;
  host.devices = devices;
  host.tool_usable = ToolIsUsable(
      facts.hccn_tool(),
      product_known_ ? std::make_optional(profile_.generation) : std::nullopt);
  if (host.tool_usable) host.tool_silence = ToolSilence(host.devices);
  if (host.tool_silence != nullptr) host.tool_usable = false;
  expected_devices_ += ExpectedDevices(server, profile_, devices.size());
  hosts_.push_back(host);
}

std::string WhyNoAddress(const DeviceView& device) {
  const DeviceAddressFact& fact = device.facts->address();
  if (!IsKnown(fact)) return WhyMissing(MissingOf(fact));
  for (const Ipv4Setting& setting : fact.value().settings()) {
    const absl::StatusOr<Ipv4Interface> parsed =
        Ipv4Interface::Parse(setting.address(), setting.netmask());
    if (!parsed.ok()) {
      return absl::StrCat("not understood: ",
                          Printable(parsed.status().message()));
    }
  }
  return "not understood";
}

}  // namespace clusterd
