#include "config/rules/seen/seen.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "config/words/quoted_text.h"
#include "config/words/subject_text.h"

namespace clusterd {
namespace {

using SeenFacts = google::protobuf::RepeatedPtrField<ValueGroups>;

// Places in ClusterView::hosts, ascending, each once.
using HostPlaces = std::vector<uint32_t>;

// The last place may repeat.
void AddPlace(uint32_t host, HostPlaces* places) {
  if (places->empty() || places->back() != host) places->push_back(host);
}

// Lists of hosts as texts. Many groups have the same hosts, so each list is
// folded once. The view must outlive it. Lives for one report.
class HostSets {
 public:
  explicit HostSets(const ClusterView& view) : view_(view) {}

  // HostsText of at most this many columns.
  const std::string& Text(const HostPlaces& places, int columns) {
    const auto [found, is_new] = texts_.try_emplace({columns, places});
    if (is_new) {
      const auto name_of = [this](uint32_t i) { return view_.hosts()[i].name; };
      found->second = HostsText(Each<std::string>(places, name_of), columns);
    }
    return found->second;
  }

 private:
  const ClusterView& view_;
  std::map<std::pair<int, HostPlaces>, std::string> texts_;
};

constexpr size_t kMaxGroups = 12;
constexpr int kGroupColumns = 300;
constexpr size_t kValueBytes = 64;

// Differs from every text that PrintableText returns.
constexpr absl::string_view kUnknownValue = "\x7f";

// The value as text, kept where the reader says; nullopt: not asked for.
using TextOrNone = std::optional<absl::string_view>;

TextOrNone TextOf(const TextFact& fact) {
  switch (fact.state_case()) {
    case TextFact::kValue:
      return fact.value().empty() ? "none" : absl::string_view(fact.value());
    case TextFact::kMissing:
      return kUnknownValue;
    default:
      return std::nullopt;
  }
}

struct HostValue {
  const char* name;
  bool is_version;
  TextOrNone (*read)(const HostFacts& facts, std::string* kept);
};

// Reads a text of a group of facts.
template <auto kGroup, auto kFact>
TextOrNone ReadText(const HostFacts& facts, std::string* /*kept*/) {
  return TextOf(((facts.*kGroup)().*kFact)());
}

TextOrNone ReadDeviceCount(const HostFacts& facts, std::string* kept) {
  if (facts.device_ids().has_missing()) return kUnknownValue;
  if (!facts.device_ids().has_value()) return std::nullopt;
  return *kept = absl::StrCat(facts.device_ids().value().ids_size());
}

constexpr HostValue kHostValues[] = {
    {"product", true,
     ReadText<&HostFacts::identity, &IdentityFacts::npu_series>},
    {"driver", true, ReadText<&HostFacts::versions, &VersionFacts::driver>},
    {"firmware", true, ReadText<&HostFacts::versions, &VersionFacts::firmware>},
    {"CANN", true, ReadText<&HostFacts::versions, &VersionFacts::cann>},
    {"operating system", true,
     ReadText<&HostFacts::identity, &IdentityFacts::os_release>},
    {"kernel", true,
     ReadText<&HostFacts::identity, &IdentityFacts::kernel_release>},
    {"architecture", false,
     ReadText<&HostFacts::identity, &IdentityFacts::architecture>},
    {"devices", false, ReadDeviceCount},
};

// The hosts of each value of one fact.
class Grouping {
 public:
  // The value before is checked first, since most values are equal.
  void Add(absl::string_view value, uint32_t host) {
    if (groups_.empty() || groups_[last_].value != value) {
      const auto [found, is_new] = places_.try_emplace(value, groups_.size());
      last_ = found->second;
      if (is_new) groups_.push_back({std::string(value), {}, 0, 0});
    }
    AddAgain(host);
  }

  // Reads the view of a device, which is more compact than the facts.
  template <typename Value>
  void Add(const Reading<Value>& reading, uint32_t host) {
    if (!reading.has_value()) {
      last_number_.reset();
      const bool asked = reading.missing != nullptr || !reading.misread.ok();
      if (asked) Add(kUnknownValue, host);
    } else if constexpr (std::is_same_v<Value, absl::string_view>) {
      Add(reading->empty() ? "none" : *reading, host);
    } else if (last_number_ == static_cast<uint64_t>(*reading)) {
      AddAgain(host);
    } else {
      last_number_ = static_cast<uint64_t>(*reading);
      if constexpr (std::is_same_v<Value, bool>) {
        Add(*reading ? "on" : "off", host);
      } else {
        Add(absl::StrCat(*reading), host);
      }
    }
  }

  void Write(const char* name, bool is_version, bool is_of_devices,
             HostSets* sets, SeenFacts* facts) {
    if (groups_.empty() || (groups_.size() == 1 && !is_version)) return;
    std::sort(groups_.begin(), groups_.end(),
              [](const Group& a, const Group& b) {
                return std::make_tuple(a.hosts.size(), a.times, a.value) <
                       std::make_tuple(b.hosts.size(), b.times, b.value);
              });
    if (groups_.size() > kMaxGroups) FoldRarest();
    ValueGroups* const fact = facts->Add();
    fact->set_name(name);
    for (const Group& group : groups_) {
      ValueGroups::Group* const written = fact->add_groups();
      if (group.value == kUnknownValue) {
        written->set_unknown(true);
      } else {
        written->set_value(PrintableText(group.value, kValueBytes));
      }
      written->set_other_values(group.folded);
      written->set_hosts(sets->Text(group.hosts, kGroupColumns));
      written->set_host_count(static_cast<uint32_t>(group.hosts.size()));
      if (is_of_devices) written->set_device_count(group.times);
    }
  }

 private:
  struct Group {
    std::string value;
    HostPlaces hosts;
    uint32_t times = 0;
    uint32_t folded = 0;  // Values that it stands for, if it is the rest.
  };

  void AddAgain(uint32_t host) {
    Group& group = groups_[last_];
    AddPlace(host, &group.hosts);
    ++group.times;
  }

  void FoldRarest() {
    const size_t folded = groups_.size() - kMaxGroups + 1;
    Group rest;
    rest.folded = static_cast<uint32_t>(folded);
    for (size_t i = 0; i < folded; ++i) {
      rest.times += groups_[i].times;
      rest.hosts.insert(rest.hosts.end(), groups_[i].hosts.begin(),
                        groups_[i].hosts.end());
    }
    std::sort(rest.hosts.begin(), rest.hosts.end());
    rest.hosts.erase(std::unique(rest.hosts.begin(), rest.hosts.end()),
                     rest.hosts.end());
    groups_.erase(groups_.begin(), groups_.begin() + folded - 1);
    groups_.front() = std::move(rest);
  }

  std::vector<Group> groups_;
  absl::flat_hash_map<std::string, size_t> places_;
  size_t last_ = 0;  // The group of the value before.
  std::optional<uint64_t> last_number_;
};

// Calls `visit` with the name and the DeviceView member of each device value.
template <typename Visit>
void ForEachDeviceValue(const Visit& visit) {
  visit("TLS", &DeviceView::tls_enabled);
  visit("MTU", &DeviceView::mtu);
  visit("link speed, Mb/s", &DeviceView::speed);
  visit("PFC by priority", &DeviceView::pfc);
  visit("traffic class by DSCP", &DeviceView::dscp_to_tc);
  visit("traffic class by priority", &DeviceView::priority_to_tc);
  visit("RoCE port", &DeviceView::roce_port);
}

// A large cluster with a leaf switch for each rack or each rail has some 1,200;
// if every device has one of its own they are not listed one by one.
constexpr size_t kMaxPortEntries = 2048;
constexpr int kPortColumns = 100;
// With many entries they are for the map, not to be read.
constexpr size_t kManyEntries = 512;
constexpr int kFewColumns = 32;
constexpr size_t kSwitchNameBytes = 64;

struct Leaf {
  const LldpNeighbour* neighbour = nullptr;  // Null: no switch is known.
  std::map<uint32_t, HostPlaces> ports;
};

// Null if the device reported no switch.
const LldpNeighbour* SwitchOf(const DeviceFacts& facts) {
  if (!facts.lldp().has_value()) return nullptr;
  const LldpNeighbour& neighbour = facts.lldp().value();
  const bool is_switch =
      neighbour.heard() && neighbour.peer() != LldpNeighbour::NPU;
  return is_switch ? &neighbour : nullptr;
}

// Devices with one index mostly go to the switch of the host before.
class LeafFinder {
 public:
  // `key` is the neighbour's; empty without one.
  HostPlaces* PortsOf(const LldpNeighbour* neighbour, absl::string_view key,
                      uint32_t device) {
    Last& last = last_[device];
    if (last.ports == nullptr || last.key != key) {
      const auto [found, is_new] = places_.try_emplace(key, nullptr);
      if (is_new) {
        leaves_.push_back(std::make_unique<Leaf>());
        leaves_.back()->neighbour = neighbour;
        found->second = leaves_.back().get();
      }
      last = {key, &found->second->ports[device]};
    }
    return last.ports;
  }

  std::vector<std::unique_ptr<Leaf>>& leaves() { return leaves_; }

 private:
  struct Last {
    absl::string_view key;
    HostPlaces* ports = nullptr;
  };

  absl::flat_hash_map<uint32_t, Last> last_;
  absl::flat_hash_map<absl::string_view, Leaf*> places_;
  std::vector<std::unique_ptr<Leaf>> leaves_;
};

std::string LeafNameOf(const Leaf& leaf,
                       const std::map<std::string, int>& times) {
  if (leaf.neighbour == nullptr) return "";
  const std::string& name = leaf.neighbour->system_name();
  const absl::string_view key = SwitchKey(*leaf.neighbour);
  if (name.empty()) return PrintableText(key, kSwitchNameBytes);
  const std::string text = PrintableText(name, kSwitchNameBytes);
  // The key distinguishes two with a maker's default name.
  return times.at(name) < 2
             ? text
             : absl::StrCat(text, " (", PrintableText(key, kSwitchNameBytes),
                            ")");
}

size_t DevicesOn(const Leaf& leaf) {
  size_t devices = 0;
  for (const auto& [device, hosts] : leaf.ports) devices += hosts.size();
  return devices;
}

void WriteLeaf(const std::string& name, const Leaf& leaf, int columns,
               HostSets* sets, SwitchPorts* written) {
  written->set_name(name);
  for (const auto& [device, hosts] : leaf.ports) {
    SwitchPorts::Ports* const ports = written->add_ports();
    ports->set_device(device);
    ports->set_hosts(sets->Text(hosts, columns));
    ports->set_host_count(static_cast<uint32_t>(hosts.size()));
  }
}

// Those with most devices, up to the limit; the others in one.
std::vector<std::unique_ptr<Leaf>> FoldLeaves(
    std::vector<std::unique_ptr<Leaf>> leaves, size_t* folded) {
  std::stable_sort(leaves.begin(), leaves.end(),
                   [](const auto& a, const auto& b) {
                     return DevicesOn(*a) > DevicesOn(*b);
                   });
  std::vector<std::unique_ptr<Leaf>> kept;
  std::map<uint32_t, std::set<uint32_t>> rest;
  size_t entries = 0;
  for (auto& leaf : leaves) {
    entries += leaf->ports.size();
    if (entries <= kMaxPortEntries || leaf->neighbour == nullptr) {
      kept.push_back(std::move(leaf));
      continue;
    }
    ++*folded;
    for (const auto& [device, hosts] : leaf->ports) {
      rest[device].insert(hosts.begin(), hosts.end());
    }
  }
  if (*folded == 0) return kept;
  kept.push_back(std::make_unique<Leaf>());
  for (const auto& [device, hosts] : rest) {
    kept.back()->ports[device].assign(hosts.begin(), hosts.end());
  }
  return kept;
}

}  // namespace

google::protobuf::RepeatedPtrField<ValueGroups> SeenValues(
    const ClusterView& view) {
  std::vector<Grouping> of_hosts(std::size(kHostValues));
  Grouping of_devices[7];
  std::string kept;
  for (uint32_t h = 0; h < view.hosts().size(); ++h) {
    const HostView& host = view.hosts()[h];
    for (size_t i = 0; i < std::size(kHostValues); ++i) {
      const TextOrNone value = kHostValues[i].read(*host.facts, &kept);
      if (value.has_value()) of_hosts[i].Add(*value, h);
    }
    // One thing of all devices after the other: the processor then fetches the
    // texts of many at once.
    Grouping* next = of_devices;
    ForEachDeviceValue([&](const char*, auto value) {
      for (const DeviceView& device : host.devices) next->Add(device.*value, h);
      ++next;
    });
  }
  HostSets sets(view);
  SeenFacts facts;
  for (size_t i = 0; i < std::size(kHostValues); ++i) {
    of_hosts[i].Write(kHostValues[i].name, kHostValues[i].is_version, false,
                      &sets, &facts);
  }
  Grouping* next = of_devices;
  ForEachDeviceValue([&](const char* name, auto) {
    next++->Write(name, false, true, &sets, &facts);
  });
  return facts;
}

google::protobuf::RepeatedPtrField<SwitchPorts> SeenSwitches(
    const ClusterView& view) {
  LeafFinder finder;
  std::vector<const LldpNeighbour*> neighbours;
  std::vector<absl::string_view> keys;
  for (uint32_t h = 0; h < view.hosts().size(); ++h) {
    const absl::Span<const DeviceView> devices = view.hosts()[h].devices;
    // Three steps let the processor fetch many devices together.
    neighbours.clear();
    keys.clear();
    for (const DeviceView& device : devices) {
      neighbours.push_back(SwitchOf(*device.facts));
    }
    for (const LldpNeighbour* neighbour : neighbours) {
      keys.push_back(neighbour == nullptr ? "" : SwitchKey(*neighbour));
    }
    for (size_t i = 0; i < devices.size(); ++i) {
      const LldpNeighbour* const leaf =
          keys[i].empty() ? nullptr : neighbours[i];
      const bool asked =
          leaf != nullptr ||
          devices[i].facts->lldp().state_case() != LldpFact::STATE_NOT_SET;
      if (asked) AddPlace(h, finder.PortsOf(leaf, keys[i], devices[i].id));
    }
  }
  size_t folded = 0;
  const auto leaves = FoldLeaves(std::move(finder.leaves()), &folded);
  const bool none_known =
      std::all_of(leaves.begin(), leaves.end(),
                  [](const auto& leaf) { return leaf->neighbour == nullptr; });
  if (none_known) return {};
  std::map<std::string, int> times;
  size_t entries = 0;
  for (const auto& leaf : leaves) {
    entries += leaf->ports.size();
    if (leaf->neighbour != nullptr) ++times[leaf->neighbour->system_name()];
  }
  const int columns = entries > kManyEntries ? kFewColumns : kPortColumns;
  std::vector<std::pair<std::string, const Leaf*>> named;
  for (const auto& leaf : leaves) {
    if (folded > 0 && leaf == leaves.back()) break;
    named.emplace_back(LeafNameOf(*leaf, times), leaf.get());
  }
  std::sort(named.begin(), named.end());
  HostSets sets(view);
  google::protobuf::RepeatedPtrField<SwitchPorts> switches;
  for (const auto& [name, leaf] : named) {
    WriteLeaf(name, *leaf, columns, &sets, switches.Add());
  }
  if (folded > 0) {
    SwitchPorts* const rest = switches.Add();
    WriteLeaf("", *leaves.back(), columns, &sets, rest);
    rest->set_more_switches(static_cast<uint32_t>(folded));
  }
  return switches;
}

}  // namespace clusterd
