#include <algorithm>
#include <optional>
#include <tuple>
#include <type_traits>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "config/rules/seen/host_sets.h"
#include "config/rules/seen/seen.h"
#include "config/words/number_text.h"
#include "config/words/quoted_text.h"
#include "config/words/subject_text.h"

namespace clusterd {
namespace {

using SeenFacts = google::protobuf::RepeatedPtrField<ValueGroups>;

constexpr size_t kMaxGroups = 12;
constexpr int kGroupColumns = 300;
constexpr size_t kValueBytes = 64;

constexpr absl::string_view kUnknownValue = "unknown";

// The value as text, kept where the reader says; nullopt: not asked for.
using ValueText = std::optional<absl::string_view>;

ValueText TextOf(const TextFact& fact) {
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
  ValueText (*read)(const HostFacts& facts, std::string* kept);
};

constexpr HostValue kHostValues[] = {
    {"product", true,
     [](const HostFacts& facts, std::string*) {
       return TextOf(facts.identity().npu_series());
     }},
    {"driver", true,
     [](const HostFacts& facts, std::string*) {
       return TextOf(facts.versions().driver());
     }},
    {"firmware", true,
     [](const HostFacts& facts, std::string*) {
       return TextOf(facts.versions().firmware());
     }},
    {"CANN", true,
     [](const HostFacts& facts, std::string*) {
       return TextOf(facts.versions().cann());
     }},
    {"operating system", true,
     [](const HostFacts& facts, std::string*) {
       return TextOf(facts.identity().os_release());
     }},
    {"kernel", true,
     [](const HostFacts& facts, std::string*) {
       return TextOf(facts.identity().kernel_release());
     }},
    {"architecture", false,
     [](const HostFacts& facts, std::string*) {
       return TextOf(facts.identity().architecture());
     }},
    {"devices", false,
     [](const HostFacts& facts, std::string* kept) -> ValueText {
       if (facts.device_ids().has_missing()) return kUnknownValue;
       if (!facts.device_ids().has_value()) return std::nullopt;
       return *kept = absl::StrCat(facts.device_ids().value().ids_size());
     }},
};

// The hosts of each value of one fact.
class Grouping {
 public:
  // Most say what the one before said: that is looked at first.
  void Add(absl::string_view value, uint32_t host) {
    if (groups_.empty() || groups_[last_].value != value) {
      const auto [found, is_new] = places_.try_emplace(value, groups_.size());
      last_ = found->second;
      if (is_new) groups_.push_back({std::string(value), {}, 0});
    }
    AddAgain(host);
  }

  // Of what the view has of a device, which lies closer together than the
  // facts.
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
      written->set_value(PrintableText(group.value, kValueBytes));
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
  };

  void AddAgain(uint32_t host) {
    Group& group = groups_[last_];
    AddPlace(host, &group.hosts);
    ++group.times;
  }

  void FoldRarest() {
    const size_t folded = groups_.size() - kMaxGroups + 1;
    Group rest;
    rest.value = absl::StrCat(folded, " other values");
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

// What is told of devices.
struct DeviceGroups {
  // One thing of all devices after the other: the processor then fetches the
  // texts of many at once.
  void Add(absl::Span<const DeviceView> devices, uint32_t host) {
    for (const DeviceView& device : devices) tls.Add(device.tls_enabled, host);
    for (const DeviceView& device : devices) mtu.Add(device.mtu, host);
    for (const DeviceView& device : devices) speed.Add(device.speed, host);
    for (const DeviceView& device : devices) pfc.Add(device.pfc, host);
    for (const DeviceView& device : devices) dscp.Add(device.dscp_to_tc, host);
    for (const DeviceView& device : devices) {
      priority.Add(device.priority_to_tc, host);
    }
    for (const DeviceView& device : devices) {
      roce_port.Add(device.roce_port, host);
    }
  }

  Grouping tls, mtu, speed, pfc, dscp, priority, roce_port;
};

}  // namespace

const std::string& HostSets::Text(const HostPlaces& places, int columns) {
  const auto [found, is_new] = texts_.try_emplace({columns, places});
  if (is_new) {
    std::vector<std::string> names;
    names.reserve(places.size());
    for (const uint32_t place : places) {
      names.emplace_back(view_.hosts()[place].name);
    }
    found->second = HostsText(names, columns);
  }
  return found->second;
}

google::protobuf::RepeatedPtrField<ValueGroups> SeenValues(
    const ClusterView& view) {
  std::vector<Grouping> of_hosts(std::size(kHostValues));
  DeviceGroups of_devices;
  std::string kept;
  for (uint32_t h = 0; h < view.hosts().size(); ++h) {
    const HostView& host = view.hosts()[h];
    for (size_t i = 0; i < std::size(kHostValues); ++i) {
      const ValueText value = kHostValues[i].read(*host.facts, &kept);
      if (value.has_value()) of_hosts[i].Add(*value, h);
    }
    of_devices.Add(host.devices, h);
  }
  HostSets sets(view);
  SeenFacts facts;
  for (size_t i = 0; i < std::size(kHostValues); ++i) {
    of_hosts[i].Write(kHostValues[i].name, kHostValues[i].is_version, false,
                      &sets, &facts);
  }
  for (const auto& [name, grouping] :
       {std::pair("TLS", &of_devices.tls),
        {"MTU", &of_devices.mtu},
        {"link speed, Mb/s", &of_devices.speed},
        {"PFC by priority", &of_devices.pfc},
        {"traffic class by DSCP", &of_devices.dscp},
        {"traffic class by priority", &of_devices.priority},
        {"RoCE port", &of_devices.roce_port}}) {
    grouping->Write(name, false, true, &sets, &facts);
  }
  return facts;
}

}  // namespace clusterd
