#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "config/rules/seen/host_sets.h"
#include "config/words/quoted_text.h"

namespace clusterd {
namespace {

// A large cluster with a leaf switch for each rack or each rail has some 1,200;
// where every device has one of its own they are not told one by one.
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

absl::string_view LeafKey(const LldpNeighbour& neighbour) {
  for (const std::string* key :
       {&neighbour.chassis_id(), &neighbour.system_name(),
        &neighbour.management_address()}) {
    if (!key->empty()) return *key;
  }
  return "";
}

// Null where the device told of no switch; `asked` whether it was asked.
const LldpNeighbour* SwitchOf(const DeviceFacts& facts, bool* asked) {
  *asked = facts.lldp().state_case() != LldpFact::STATE_NOT_SET;
  if (!facts.lldp().has_value()) return nullptr;
  const LldpNeighbour& neighbour = facts.lldp().value();
  const bool is_switch = neighbour.heard() &&
                         neighbour.peer() != LldpNeighbour::NPU &&
                         !LeafKey(neighbour).empty();
  return is_switch ? &neighbour : nullptr;
}

// Devices with one index mostly go to the switch of the host before.
class LeafFinder {
 public:
  HostPlaces* PortsOf(const LldpNeighbour* neighbour, uint32_t device) {
    const absl::string_view key =
        neighbour == nullptr ? absl::string_view() : LeafKey(*neighbour);
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
  const absl::string_view key = LeafKey(*leaf.neighbour);
  if (name.empty()) return PrintableText(key, kSwitchNameBytes);
  const std::string text = PrintableText(name, kSwitchNameBytes);
  // Two of a maker's default name are told apart.
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
               HostSets* sets, Report* report) {
  SwitchPorts* const written = report->add_switches();
  written->set_name(name);
  for (const auto& [device, hosts] : leaf.ports) {
    SwitchPorts::Ports* const ports = written->add_ports();
    ports->set_device(device);
    ports->set_hosts(sets->Text(hosts, columns));
    ports->set_host_count(static_cast<uint32_t>(hosts.size()));
  }
}

// Those with most devices, until there are enough entries; the others in one.
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

void AddSwitches(const ClusterView& view, HostSets* sets, Report* report) {
  LeafFinder finder;
  for (uint32_t h = 0; h < view.hosts().size(); ++h) {
    for (const DeviceView& device : view.hosts()[h].devices) {
      bool asked = false;
      const LldpNeighbour* neighbour = SwitchOf(*device.facts, &asked);
      if (asked) AddPlace(h, finder.PortsOf(neighbour, device.id));
    }
  }
  size_t folded = 0;
  const auto leaves = FoldLeaves(std::move(finder.leaves()), &folded);
  const bool none_known =
      std::all_of(leaves.begin(), leaves.end(),
                  [](const auto& leaf) { return leaf->neighbour == nullptr; });
  if (none_known) return;
  std::map<std::string, int> times;
  size_t entries = 0;
  for (const auto& leaf : leaves) {
    entries += leaf->ports.size();
    if (leaf->neighbour != nullptr) ++times[leaf->neighbour->system_name()];
  }
  const int columns = entries > kManyEntries ? kFewColumns : kPortColumns;
  std::vector<std::pair<std::string, const Leaf*>> named;
  for (size_t i = 0; i < leaves.size(); ++i) {
    const bool is_rest = folded > 0 && i + 1 == leaves.size();
    named.emplace_back(is_rest ? absl::StrCat(folded, " more switches")
                               : LeafNameOf(*leaves[i], times),
                       leaves[i].get());
  }
  std::sort(named.begin(), named.end());
  for (const auto& [name, leaf] : named) {
    WriteLeaf(name, *leaf, columns, sets, report);
  }
}

}  // namespace clusterd
