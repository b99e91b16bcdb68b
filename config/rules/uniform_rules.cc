#include "config/rules/uniform_rules.h"

#include <algorithm>
#include <functional>
#include <map>
#include <tuple>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "config/rules/hccn_conf_rules.h"

namespace clusterd {
namespace {

struct Placed {
  const HostView* host;
  const DeviceView* device;
};

// How many devices have a value, and of how many it is planned.
struct Votes {
  size_t live = 0;
  size_t planned = 0;
  size_t order = 0;  // When it was first seen.

  // Of equals the planned one, then the first seen.
  bool operator<(const Votes& other) const {
    return std::make_tuple(live, planned, other.order) <
           std::make_tuple(other.live, other.planned, order);
  }
};

// Prefix lengths of subnets that overlap.
using PrefixVotes = std::map<int, Votes>;

struct SubnetFamily {
  Ipv4Subnet widest;
  PrefixVotes votes;
};

int MostCommonPrefix(const PrefixVotes& votes) {
  return std::max_element(
             votes.begin(), votes.end(),
             [](const auto& a, const auto& b) { return a.second < b.second; })
      ->first;
}

// For every subnet in use the family of those that overlap it. Subnets are
// nested or apart, so the widest one holds its whole family.
class Families {
 public:
  void Add(const DeviceView& device) {
    const Ipv4Subnet subnet = device.Address().subnet();
    Votes& votes = votes_[subnet];
    ++votes.live;
    if (device.HasPlannedAddress()) ++votes.planned;
  }

  void Build() {
    std::vector<Ipv4Subnet> subnets;
    subnets.reserve(votes_.size());
    for (const auto& [subnet, votes] : votes_) subnets.push_back(subnet);
    // Wider ones come before what they hold.
    std::sort(subnets.begin(), subnets.end());
    for (const Ipv4Subnet& subnet : subnets) {
      if (families_.empty() || !families_.back().widest.Overlaps(subnet)) {
        families_.push_back({subnet, {}});
      }
      Votes& sum = families_.back().votes[subnet.prefix_length()];
      sum.live += votes_[subnet].live;
      sum.planned += votes_[subnet].planned;
      family_of_[subnet] = families_.size() - 1;
    }
  }

  const SubnetFamily& Of(const Ipv4Subnet& subnet) const {
    return families_[family_of_.find(subnet)->second];
  }
  bool AnyMixed() const {
    return std::any_of(
        families_.begin(), families_.end(),
        [](const SubnetFamily& family) { return family.votes.size() > 1; });
  }

 private:
  absl::flat_hash_map<Ipv4Subnet, Votes> votes_;
  absl::flat_hash_map<Ipv4Subnet, size_t> family_of_;
  std::vector<SubnetFamily> families_;
};

std::string MaskText(int prefix_length) {
  return Ipv4Subnet(Ipv4Address(), prefix_length).netmask().ToString();
}

FindingText MaskFinding(const DeviceView& device, const SubnetFamily& family) {
  const Ipv4Interface own = device.Address();
  const int right = MostCommonPrefix(family.votes);
  FindingText text;
  text.observed = absl::StrCat("netmask ", MaskText(own.prefix_length()),
                               " of ", own.address().ToString());
  text.expected =
      absl::StrCat("netmask ", MaskText(right), ", as ",
                   Count(family.votes.find(right)->second.live, "other device"),
                   " in ", family.widest.ToString());
  const bool planned =
      device.planned.has_value() && device.planned->prefix_length() == right;
  text.device_command =
      planned ? SetPlannedAddress(device)
              : absl::StrCat("-ip -s address ", own.address().ToString(),
                             " netmask ", MaskText(right));
  return text;
}

// Whether the file tells the switch once hccn-conf's finding is repaired. An
// Ascend 950 device may have another device's number in the file.
bool RepairedFileTellsTls(const HostView& host, const DeviceView& device) {
  if (host.facts->hccn_tool().generation() != NpuToolFacts::CLASSIC) {
    return false;
  }
  for (const HccnConf::Entry& entry :
       host.facts->hccn_conf().value().entries()) {
    if (entry.key() != "tls_enable" || !entry.has_device() ||
        entry.device() != device.id) {
      continue;
    }
    // The tool obeys the first of several.
    const absl::string_view value = RepairedValue(host, entry);
    return value != entry.value() && (value == "0" || value == "1");
  }
  return false;
}

// What /etc/hccn.conf fails to tell is no fault of the tool.
void AddUnknownTls(const ClusterView& view, const HostView& host,
                   const DeviceView& device, RuleReport& report) {
  const TlsFact& fact = device.facts->tls();
  const Missing* missing = MissingOf(fact);
  const Missing::Reason reason =
      missing == nullptr ? Missing::REASON_UNSPECIFIED : missing->reason();
  if (reason == Missing::UNREADABLE) {
    report.Add(
        host, device.id,
        {UNKNOWN, absl::StrCat("TLS switch not known: ", WhyMissing(missing)),
         "", "set the switch anew, 0 for off or 1 for on",
         "-tls -s enable <0 or 1>", "", "",
         RepairedFileTellsTls(host, device) ? "hccn-conf" : ""});
  } else if (reason == Missing::NOT_QUERIED && !view.spec().allow_tls_query()) {
    // The reason names the key of one device; this text folds.
    report.Add(host, device.id,
               {UNKNOWN,
                "TLS switch not known: /etc/hccn.conf does not tell it, and "
                "clusterd does not ask hccn_tool because the question can "
                "write to that file",
                "",
                "allow the question with allow_tls_query: true in "
                "cluster.yaml, or set the switch, 0 for off or 1 for on",
                "-tls -s enable <0 or 1>"});
  } else {
    report.AddUnknown(host, device, "TLS switch", fact);
  }
}

absl::string_view SwitchText(bool enabled) { return enabled ? "on" : "off"; }

// The tool was asked, and hccn.conf has another value for the next boot. A file
// without the key lets the device keep what it has.
bool FileHasOtherSwitch(const DeviceView& device) {
  const TlsFact::Switch& tls = device.facts->tls().value();
  return device.tls_enabled != 0 && !tls.in_file().empty() &&
         tls.in_file() != (tls.enabled() ? "1" : "0");
}

FindingText FileSwitchFinding(const DeviceView& device) {
  const TlsFact::Switch& tls = device.facts->tls().value();
  const int live = tls.enabled() ? 1 : 0;
  FindingText text{FAIL,
                   absl::StrCat("device has TLS ", SwitchText(tls.enabled()),
                                ", its tls_enable in /etc/hccn.conf is ",
                                Quoted(tls.in_file())),
                   absl::StrCat("tls_enable ", live, " in /etc/hccn.conf too"),
                   "", absl::StrCat("-tls -s enable ", live)};
  text.why =
      "The driver sets the switch from that file at boot, so the device comes "
      "back with another one, or its recovery fails over a value that is none.";
  return text;
}

// One thing that hosts have a version of.
struct VersionKind {
  absl::string_view name;
  std::function<const TextFact&(const HostFacts&)> fact;
  State state;
  // A host without it has a version of its own: "not installed". And clusterd
  // may not ask at all, which is said and costs no verdict.
  bool is_optional;
  absl::string_view why;
};

struct VersionGroup {
  std::string version;
  std::vector<const HostView*> hosts;
};

void AddVersionGroups(const VersionKind& kind, std::vector<VersionGroup> groups,
                      RuleReport& report) {
  if (groups.size() < 2) return;
  std::stable_sort(groups.begin(), groups.end(),
                   [](const VersionGroup& a, const VersionGroup& b) {
                     return a.hosts.size() < b.hosts.size();
                   });
  // Of equally large groups the first seen counts as right.
  const size_t most = groups.back().hosts.size();
  const auto right = std::find_if(
      groups.begin(), groups.end(),
      [&](const VersionGroup& group) { return group.hosts.size() == most; });
  for (const VersionGroup& group : groups) {
    if (&group == &*right) continue;
    for (const HostView* host : group.hosts) {
      FindingText text{kind.state,
                       absl::StrCat(kind.name, " ", group.version, " on ",
                                    Count(group.hosts.size(), "host")),
                       absl::StrCat(kind.name, " ", right->version, ", as on ",
                                    Count(most, "host")),
                       absl::StrCat("install ", kind.name, " ", right->version,
                                    " on the hosts named here")};
      text.why = std::string(kind.why);
      if (kind.state == FAIL) {
        text.fix =
            "take the hosts named here out of the cluster in "
            "cluster.yaml";
      }
      report.Add(*host, std::move(text));
    }
  }
}

// Clears known[i] where host i's version is not known.
void JudgeVersions(const VersionKind& kind, const ClusterView& view,
                   std::vector<bool>* known, RuleReport& report) {
  absl::flat_hash_map<std::string, size_t> place;
  std::vector<VersionGroup> groups;
  const std::string* last = nullptr;
  size_t last_group = 0;
  size_t not_queried = 0;
  std::string reason;
  for (size_t i = 0; i < view.hosts().size(); ++i) {
    const HostView& host = view.hosts()[i];
    const TextFact& fact = kind.fact(*host.facts);
    const Missing* missing = MissingOf(fact);
    const bool absent = kind.is_optional && missing != nullptr &&
                        missing->reason() == Missing::ABSENT;
    if (kind.is_optional && missing != nullptr &&
        missing->reason() == Missing::NOT_QUERIED) {
      if (not_queried++ == 0) reason = WhyMissing(missing);
      continue;
    }
    if (!IsKnown(fact) && !absent) {
      report.AddUnknown(host, kind.name, fact);
      (*known)[i] = false;
      continue;
    }
    // Most hosts have what the host before them has.
    if (!absent && last != nullptr && fact.value() == *last) {
      groups[last_group].hosts.push_back(&host);
      continue;
    }
    std::string version = absent ? "not installed" : Printable(fact.value());
    const auto [slot, is_new] = place.try_emplace(version, groups.size());
    if (is_new) groups.push_back({std::move(version), {}});
    groups[slot->second].hosts.push_back(&host);
    last = absent ? nullptr : &fact.value();
    last_group = slot->second;
  }
  AddVersionGroups(kind, std::move(groups), report);
  if (not_queried == 0) return;
  report.AddNote(absl::StrCat(kind.name, " not compared on ",
                              Count(not_queried, "host"), ", ", reason));
}

// Whether all of "A2 x 7, A3 x 1" are of the series.
bool AllOfSeries(absl::string_view text, absl::string_view series) {
  for (absl::string_view part : absl::StrSplit(text, ',')) {
    part = absl::StripAsciiWhitespace(part);
    if (part.substr(0, part.find(' ')) != series) return false;
  }
  return true;
}

// The series against the product; not known ones have their finding already.
void JudgeSeries(const ClusterView& view, RuleReport& report) {
  const std::string& expected = view.profile().npu_series;
  for (const HostView& host : view.hosts()) {
    const TextFact& fact = host.facts->identity().npu_series();
    if (!IsKnown(fact) || AllOfSeries(fact.value(), expected)) continue;
    FindingText text{
        FAIL, absl::StrCat("NPU series ", Quoted(fact.value())),
        absl::StrCat("NPU series ", expected, " of ", view.profile().title),
        "correct product in cluster.yaml, or take the host out "
        "of it"};
    text.why =
        "The spec's product decides how many devices there are, which subnets "
        "they need and which addresses are reserved: with another series every "
        "other verdict about this host is about the wrong machine.";
    report.Add(host, std::move(text));
  }
}

}  // namespace

void CheckNetmaskUniform(const ClusterView& view, RuleReport& report) {
  Families families;
  ForEachAddress(view, report,
                 [&](const HostView& host, const DeviceView& device) {
                   report.Judged(host, 1);
                   families.Add(device);
                 });
  families.Build();
  if (!families.AnyMixed()) return;
  for (const HostView& host : view.hosts()) {
    for (const DeviceView& device : host.devices) {
      if (device.address_known != Known::kYes) continue;
      const Ipv4Subnet subnet = device.Address().subnet();
      const SubnetFamily& family = families.Of(subnet);
      if (MostCommonPrefix(family.votes) == subnet.prefix_length()) continue;
      report.Add(host, device.id, MaskFinding(device, family));
    }
  }
}

void CheckTlsUniform(const ClusterView& view, RuleReport& report) {
  size_t count[2] = {0, 0};
  bool files_agree = true;
  std::optional<bool> first;
  ForEachDevice(view, report,
                [&](const HostView& host, const DeviceView& device) {
                  if (device.tls_enabled == 0) {
                    AddUnknownTls(view, host, device, report);
                    return;
                  }
                  report.Judged(host, 1);
                  const bool enabled = device.tls_enabled == 2;
                  ++count[enabled ? 1 : 0];
                  if (FileHasOtherSwitch(device)) files_agree = false;
                  if (!first.has_value()) first = enabled;
                });
  if (!first.has_value()) return;
  const bool planned = view.spec().has_tls();
  bool right = count[0] == count[1] ? *first : count[1] > count[0];
  if (planned) right = view.spec().tls();
  if (count[right ? 0 : 1] == 0 && files_agree) return;
  const std::string expected =
      planned ? absl::StrCat("TLS ", SwitchText(right), ", as the spec says")
              : absl::StrCat("TLS ", SwitchText(right), ", as on ",
                             Count(count[right ? 1 : 0], "other device"));
  for (const HostView& host : view.hosts()) {
    for (const DeviceView& device : host.devices) {
      if (device.tls_enabled == 0 || (device.tls_enabled == 2) == right) {
        // A wrong switch is set in both by the one command.
        if (FileHasOtherSwitch(device)) {
          report.Add(host, device.id, FileSwitchFinding(device));
        }
        continue;
      }
      report.Add(host, device.id,
                 {FAIL, absl::StrCat("TLS is ", SwitchText(!right)), expected,
                  "", absl::StrCat("-tls -s enable ", right ? 1 : 0)});
    }
  }
}

void CheckMtuUniform(const ClusterView& view, RuleReport& report) {
  std::map<uint32_t, std::map<uint64_t, Votes>> rails;
  size_t order = 0;
  ForEachDevice(view, report,
                [&](const HostView& host, const DeviceView& device) {
                  if (!device.mtu.has_value()) {
                    report.AddUnknown(host, device, "MTU", device.facts->mtu());
                    return;
                  }
                  report.Judged(host, 1);
                  Votes& votes = rails[device.id][*device.mtu];
                  if (votes.live++ == 0) votes.order = order++;
                });
  const bool planned = view.spec().has_mtu();
  for (const HostView& host : view.hosts()) {
    for (const DeviceView& device : host.devices) {
      if (!device.mtu.has_value()) continue;
      const std::map<uint64_t, Votes>& rail = rails[device.id];
      if (!planned && rail.size() == 1) continue;
      const auto most = std::max_element(
          rail.begin(), rail.end(),
          [](const auto& a, const auto& b) { return a.second < b.second; });
      const uint64_t right = planned ? view.spec().mtu() : most->first;
      if (*device.mtu == right) continue;
      const std::string expected =
          planned
              ? absl::StrCat("MTU ", right, ", as the spec says")
              : absl::StrCat("MTU ", right, ", as device ", device.id, " of ",
                             Count(most->second.live, "other host"));
      report.Add(host, device.id,
                 {WARN, absl::StrCat("MTU is ", *device.mtu), expected, "",
                  absl::StrCat("-mtu -s size ", right)});
    }
  }
}

void CheckVersionUniform(const ClusterView& view, RuleReport& report) {
  const VersionKind kinds[] = {
      {"NPU series",
       [](const HostFacts& facts) -> const TextFact& {
         return facts.identity().npu_series();
       },
       FAIL, false, "Different NPU series do not train together."},
      {"driver",
       [](const HostFacts& facts) -> const TextFact& {
         return facts.versions().driver();
       },
       WARN, false, ""},
      {"firmware",
       [](const HostFacts& facts) -> const TextFact& {
         return facts.versions().firmware();
       },
       WARN, false, ""},
      {"CANN",
       [](const HostFacts& facts) -> const TextFact& {
         return facts.versions().cann();
       },
       WARN, true, ""}};
  std::vector<bool> known(view.hosts().size(), true);
  for (const VersionKind& kind : kinds) {
    JudgeVersions(kind, view, &known, report);
  }
  const bool series_planned = !view.profile().npu_series.empty();
  if (series_planned) JudgeSeries(view, report);
  if (view.hosts().size() < 2 && !series_planned) {
    report.ExplainSkip("fewer than two hosts answered");
    return;
  }
  for (size_t i = 0; i < known.size(); ++i) {
    if (known[i]) report.Judged(view.hosts()[i]);
  }
}

}  // namespace clusterd
