#include "config/learn/seen_cluster.h"

#include <set>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "config/spec/mistakes.h"
#include "config/values/hostlist.h"
#include "config/values/number_list.h"
#include "config/values/status_macros.h"
#include "config/words/number_text.h"
#include "config/words/subject_text.h"

namespace clusterd {
namespace {

std::optional<Ipv4Address> AddressOf(const TextFact& fact) {
  if (!fact.has_value()) return std::nullopt;
  if (fact.value().empty()) return Ipv4Address();
  const auto address = Ipv4Address::Parse(fact.value());
  return address.ok() ? std::make_optional(*address) : std::nullopt;
}

std::optional<uint64_t> NumberOf(const NumberFact& fact) {
  return fact.has_value() ? std::make_optional(fact.value()) : std::nullopt;
}

bool HasIpv6(const DeviceFacts& facts) {
  return !facts.ipv6_address().value().empty();
}

SeenDevice DeviceOf(const DeviceFacts& facts) {
  SeenDevice device;
  device.id = facts.id();
  const auto& settings = facts.address().value().settings();
  if (facts.address().has_value() && settings.empty()) {
    // A device with only an IPv6 address is in use.
    if (!HasIpv6(facts)) device.address = Ipv4Interface();
  } else if (facts.address().has_value()) {
    const auto address =
        Ipv4Interface::Parse(settings[0].address(), settings[0].netmask());
    if (address.ok()) device.address = *address;
  }
  device.gateway = AddressOf(facts.gateway());
  device.detect_address = AddressOf(facts.detect_address());
  device.mtu = NumberOf(facts.mtu());
  if (facts.tls().has_value()) device.tls = facts.tls().value().enabled();
  return device;
}

// True if the next boot sets the running value.
std::optional<bool> IsKept(const NumberFact& now,
                           const PersistentValueFact& boot) {
  if (!now.has_value() || !boot.has_value()) return std::nullopt;
  const auto& assignments = boot.value().assignments();
  uint64_t value = 0;
  return !assignments.empty() &&
         ParseDigits(assignments.rbegin()->value(), &value) &&
         value >= now.value();
}

SeenHost HostOf(const HostFacts& facts) {
  SeenHost host;
  host.name = facts.host();
  host.facts = &facts;
  host.silent = facts.has_missing();
  for (const DeviceFacts& device : facts.devices()) {
    host.devices.push_back(DeviceOf(device));
  }
  const KernelFacts& kernel = facts.kernel();
  host.somaxconn = NumberOf(kernel.somaxconn());
  host.syn_backlog = NumberOf(kernel.tcp_max_syn_backlog());
  const auto kept = IsKept(kernel.somaxconn(), kernel.somaxconn_at_boot());
  const auto syn_kept = IsKept(kernel.tcp_max_syn_backlog(),
                               kernel.tcp_max_syn_backlog_at_boot());
  if (kept && syn_kept) host.persistent = *kept && *syn_kept;
  for (const FirewallFacts* firewall : {&facts.ufw(), &facts.firewalld()}) {
    if (firewall->active().has_value() || firewall->installed().has_value()) {
      host.firewall_runs =
          host.firewall_runs.value_or(false) || firewall->active().value();
    }
  }
  return host;
}

// Notes on how an apply would change addresses that the file cannot express.
std::vector<FindingValue> AddressNotes(absl::Span<const HostFacts> facts) {
  google::protobuf::RepeatedPtrField<Subject> leased;
  google::protobuf::RepeatedPtrField<Subject> ipv6;
  for (const HostFacts& host : facts) {
    Subject by_dhcp;
    by_dhcp.set_host(host.host());
    Subject by_ipv6 = by_dhcp;
    for (const HccnConf::Entry& entry : host.hccn_conf().value().entries()) {
      if (entry.key() == "udhcpc_enable" && entry.has_device()) {
        by_dhcp.add_devices(entry.device());
      }
    }
    for (const DeviceFacts& device : host.devices()) {
      if (HasIpv6(device)) by_ipv6.add_devices(device.id());
    }
    if (by_dhcp.devices_size() > 0) *leased.Add() = by_dhcp;
    if (by_ipv6.devices_size() > 0) *ipv6.Add() = by_ipv6;
  }
  std::vector<FindingValue> notes;
  const auto add = [&notes](const auto& subjects, absl::string_view row) {
    if (subjects.empty()) return;
    notes.push_back(Worded(row, SubjectsText(subjects, 8, 60)));
  };
  add(leased, "spec-note-leases");
  add(ipv6, "spec-note-ipv6");
  return notes;
}

}  // namespace

const SeenDevice* FindDevice(const SeenHost& host, uint32_t id) {
  return FirstWith(host.devices, &SeenDevice::id, id);
}

const SeenDevice& DeviceOf(const SeenHost& host, uint32_t id) {
  static const auto* const nothing = new SeenDevice();
  const SeenDevice* const device = FindDevice(host, id);
  return device == nullptr ? *nothing : *device;
}

std::vector<uint32_t> MajorityIds(absl::Span<const SeenHost> hosts) {
  std::map<std::vector<uint32_t>, size_t> votes;
  for (const SeenHost& host : hosts) {
    auto ids = Each<uint32_t>(host.devices, &SeenDevice::id);
    absl::c_sort(ids);
    if (!ids.empty()) ++votes[ids];
  }
  return Majority(votes).value_or(std::vector<uint32_t>());
}

absl::StatusOr<std::vector<const ProductProfile*>> ChooseProduct(
    absl::string_view product, absl::Span<const SeenHost> hosts,
    const std::string& series, bool is_950) {
  const std::vector<uint32_t> ids = MajorityIds(hosts);
  std::vector<const ProductProfile*> chosen;
  if (!product.empty()) {
    const std::pair<std::string, std::string> words =
        absl::StrSplit(product, absl::MaxSplits(' ', 1));
    RETURN_IF_ERROR(FindProductProfile(words.first, words.second).status());
    for (const ProductProfile& profile : AllProductProfiles()) {
      const bool is_mode = words.second.empty() || profile.mode == words.second;
      if (profile.name == words.first && is_mode) chosen.push_back(&profile);
    }
    return chosen;
  }
  for (const ProductProfile& profile : AllProductProfiles()) {
    const bool is_series = series.empty() || profile.npu_series.empty() ||
                           profile.npu_series == series;
    const bool has_ids =
        profile.device_ids.empty() || absl::c_includes(profile.device_ids, ids);
    const bool new_tool = profile.generation == NpuToolFacts::ASCEND_950;
    if (is_series && has_ids && new_tool == is_950) chosen.push_back(&profile);
  }
  const auto is_exact = [&](const ProductProfile* profile) {
    return !ids.empty() && profile->device_ids == ids &&
           (series.empty() || profile->npu_series == series || is_950);
  };
  if (absl::c_any_of(chosen, is_exact)) {
    chosen.erase(absl::c_stable_partition(chosen, is_exact), chosen.end());
  }
  std::set<std::string> names;
  for (const ProductProfile* profile : chosen) names.insert(profile->name);
  if (names.size() == 1) return chosen;
  return InvalidWords(
      "msg-learn-product",
      series.empty() ? Worded("spec-not-known") : ToFindingValue(series),
      ids.empty() ? Worded("spec-no-device") : DevicesValue(ids),
      names.empty() ? Worded("spec-known-product")
                    : Worded("spec-one-of", absl::StrJoin(names, ", ")));
}

absl::StatusOr<SeenCluster> LearnCluster(
    const std::string& name, absl::string_view product,
    absl::Span<const HostFacts> facts,
    const std::map<std::string, Ipv4Address>& addresses) {
  const InLanguage english(Language::kEnglish);  // The file has these texts.
  SeenCluster cluster;
  cluster.name = name;
  cluster.source = absl::StrCat("what ", Count(facts.size(), "host"), " had");
  cluster.notes = AddressNotes(facts);
  std::map<std::string, size_t> series;
  std::map<bool, size_t> is_950;
  for (const HostFacts& host : facts) {
    if (!IsHostName(host.host())) {
      return InvalidWords("msg-learn-odd-name");
    }
    cluster.hosts.push_back(HostOf(host));
    const auto address = addresses.find(host.host());
    if (address != addresses.end()) {
      cluster.hosts.back().address = address->second;
    }
    if (host.has_missing()) continue;
    // "A2 x 8"; other texts are not a series.
    const std::string& text = host.identity().npu_series().value();
    const std::string first = text.substr(0, text.find(' '));
    const ProductProfile* const known =
        FirstWith(AllProductProfiles(), &ProductProfile::npu_series, first);
    if (known != nullptr && !first.empty()) ++series[first];
    ++is_950[host.hccn_tool().generation() == NpuToolFacts::ASCEND_950];
  }
  ASSIGN_OR_RETURN(
      cluster.profiles,
      ChooseProduct(product, cluster.hosts, Majority(series).value_or(""),
                    Majority(is_950).value_or(false)));
  return cluster;
}

}  // namespace clusterd
