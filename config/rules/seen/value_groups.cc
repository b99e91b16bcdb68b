#include <algorithm>
#include <optional>
#include <tuple>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "config/rules/seen/host_sets.h"
#include "config/rules/seen/seen.h"
#include "config/words/number_text.h"
#include "config/words/quoted_text.h"
#include "config/words/subject_text.h"

namespace clusterd {
namespace {

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

ValueText TextOf(const NumberFact& fact, std::string* kept) {
  if (fact.has_missing()) return kUnknownValue;
  if (fact.state_case() != NumberFact::kValue) return std::nullopt;
  return *kept = absl::StrCat(fact.value());
}

ValueText TextOf(const BoolFact& fact, const char* yes, const char* no) {
  if (fact.has_missing()) return kUnknownValue;
  if (fact.state_case() != BoolFact::kValue) return std::nullopt;
  return fact.value() ? yes : no;
}

ValueText FirewallText(const FirewallFacts& facts) {
  const ValueText installed = TextOf(facts.installed(), "yes", "not installed");
  return installed == "yes" ? TextOf(facts.active(), "active", "not active")
                            : installed;
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
    {"hccn_tool", false,
     [](const HostFacts& facts, std::string*) {
       return TextOf(facts.hccn_tool().path());
     }},
    {"devices", false,
     [](const HostFacts& facts, std::string* kept) -> ValueText {
       if (facts.device_ids().has_missing()) return kUnknownValue;
       if (!facts.device_ids().has_value()) return std::nullopt;
       return *kept = absl::StrCat(facts.device_ids().value().ids_size());
     }},
    {"reserved ports", false,
     [](const HostFacts& facts, std::string*) {
       return TextOf(facts.kernel().reserved_ports());
     }},
    {"net.core.somaxconn", false,
     [](const HostFacts& facts, std::string* kept) {
       return TextOf(facts.kernel().somaxconn(), kept);
     }},
    {"net.ipv4.tcp_max_syn_backlog", false,
     [](const HostFacts& facts, std::string* kept) {
       return TextOf(facts.kernel().tcp_max_syn_backlog(), kept);
     }},
    {"ufw", false,
     [](const HostFacts& facts, std::string*) {
       return FirewallText(facts.ufw());
     }},
    {"firewalld", false,
     [](const HostFacts& facts, std::string*) {
       return FirewallText(facts.firewalld());
     }},
    {"Docker", false,
     [](const HostFacts& facts, std::string*) {
       return TextOf(facts.docker_running(), "runs", "does not run");
     }},
    {"simulation", false,
     [](const HostFacts& facts, std::string*) -> ValueText {
       if (facts.simulation().empty()) return "none";
       return absl::string_view(facts.simulation());
     }},
};

struct DeviceValue {
  const char* name;
  ValueText (*read)(const DeviceFacts& facts, std::string* kept);
};

constexpr DeviceValue kDeviceValues[] = {
    {"TLS",
     [](const DeviceFacts& facts, std::string*) -> ValueText {
       if (facts.tls().has_missing()) return kUnknownValue;
       if (!facts.tls().has_value()) return std::nullopt;
       return facts.tls().value().enabled() ? "on" : "off";
     }},
    {"MTU", [](const DeviceFacts& facts,
               std::string* kept) { return TextOf(facts.mtu(), kept); }},
    {"link speed, Mb/s",
     [](const DeviceFacts& facts, std::string* kept) {
       return TextOf(facts.speed_mbps(), kept);
     }},
    {"driver and firmware go together",
     [](const DeviceFacts& facts, std::string*) {
       return TextOf(facts.compatibility());
     }},
    {"PFC by priority", [](const DeviceFacts& facts,
                           std::string*) { return TextOf(facts.pfc()); }},
    {"traffic class by DSCP",
     [](const DeviceFacts& facts, std::string*) {
       return TextOf(facts.dscp_to_tc());
     }},
    {"traffic class by priority",
     [](const DeviceFacts& facts, std::string*) {
       return TextOf(facts.priority_to_tc());
     }},
    {"RoCE port", [](const DeviceFacts& facts,
                     std::string*) { return TextOf(facts.roce_port()); }},
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
    Group& group = groups_[last_];
    AddPlace(host, &group.hosts);
    ++group.times;
  }

  void Write(const char* name, bool is_version, bool is_of_devices,
             HostSets* sets, Report* report) {
    if (groups_.empty() || (groups_.size() == 1 && !is_version)) return;
    std::sort(groups_.begin(), groups_.end(),
              [](const Group& a, const Group& b) {
                return std::make_tuple(a.hosts.size(), a.times, a.value) <
                       std::make_tuple(b.hosts.size(), b.times, b.value);
              });
    if (groups_.size() > kMaxGroups) FoldRarest();
    ValueGroups* const fact = report->add_value_groups();
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
  size_t last_ = 0;
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

void AddValueGroups(const ClusterView& view, HostSets* sets, Report* report) {
  std::vector<Grouping> of_hosts(std::size(kHostValues));
  std::vector<Grouping> of_devices(std::size(kDeviceValues));
  std::string kept;
  for (uint32_t h = 0; h < view.hosts().size(); ++h) {
    const HostView& host = view.hosts()[h];
    for (size_t i = 0; i < std::size(kHostValues); ++i) {
      const ValueText value = kHostValues[i].read(*host.facts, &kept);
      if (value.has_value()) of_hosts[i].Add(*value, h);
    }
    for (const DeviceView& device : host.devices) {
      for (size_t i = 0; i < std::size(kDeviceValues); ++i) {
        const ValueText value = kDeviceValues[i].read(*device.facts, &kept);
        if (value.has_value()) of_devices[i].Add(*value, h);
      }
    }
  }
  for (size_t i = 0; i < std::size(kHostValues); ++i) {
    of_hosts[i].Write(kHostValues[i].name, kHostValues[i].is_version, false,
                      sets, report);
  }
  for (size_t i = 0; i < std::size(kDeviceValues); ++i) {
    of_devices[i].Write(kDeviceValues[i].name, false, true, sets, report);
  }
}

void AddSeen(const ClusterView& view, Report* report) {
  HostSets sets(view);
  AddValueGroups(view, &sets, report);
  AddSwitches(view, &sets, report);
}

}  // namespace clusterd
