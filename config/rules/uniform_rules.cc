// Values that must be the same everywhere: netmask of a subnet, TLS switch,
// MTU, backlogs, ports, versions, roots. The spec decides, otherwise most.
#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <set>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "config/hccl/job_ports.h"
#include "config/plan/kernel_parameters.h"
#include "config/rules/host_rules.h"
#include "config/rules/rule_report.h"
#include "config/rules/view/ballot.h"
#include "config/rules/view/cluster_view.h"
#include "config/values/port_set.h"
#include "config/words/subject_text.h"

namespace clusterd {
namespace {

constexpr size_t kMaxRootsBytes = 400;

// Subnets that overlap, by the widest of them: how many devices have which
// prefix length. Subnets are nested or apart, so the widest one holds them all,
// and it sorts before what it holds.
using SubnetFamilies = std::map<Ipv4Subnet, Ballot<int>>;

SubnetFamilies GroupOverlapping(const std::map<Ipv4Subnet, Votes>& subnets) {
  SubnetFamilies families;
  for (const auto& [subnet, votes] : subnets) {
    if (families.empty() || !families.rbegin()->first.Overlaps(subnet)) {
      families[subnet];
    }
    Votes& sum = families.rbegin()->second[subnet.prefix_length()];
    sum.live += votes.live;
    sum.planned += votes.planned;
  }
  return families;
}

std::string MaskText(int prefix_length) {
  return Ipv4Subnet(Ipv4Address(), prefix_length).netmask().ToString();
}

// The mask of most devices in one place is right.
void JudgeMask(const DeviceView& device, const Ipv4Subnet& widest,
               const Ballot<int>& lengths, RuleReport& report) {
  const Ipv4Interface own = device.Address();
  const std::optional<int> majority = Majority(lengths);
  if (majority == own.prefix_length()) return;
  if (!majority.has_value()) {
    return report.Add(device, TiedText(report, {FAIL, "netmask", "device"},
                                       lengths, own.prefix_length(), MaskText));
  }
  const int right = *majority;
  const bool planned =
      device.planned.has_value() && device.planned->prefix_length() == right;
  report.Add(device, "another", MaskText(own.prefix_length()),
             own.address().ToString(), MaskText(right),
             Counted(lengths.at(right).live, "other device"), widest.ToString(),
             planned ? SetPlanned(device)
                     : SetCommand(Ipv4Interface(own.address(), right)));
}

// True if the file has the switch once hccn-conf's finding is repaired. An
// Ascend 950 device may have another device's number in the file.
bool RepairedFileTellsTls(const DeviceView& device) {
  const HccnConf::Entry* in_file = device.conf_tls;
  if (in_file == nullptr ||
      device.host->facts->hccn_tool().generation() != NpuToolFacts::CLASSIC) {
    return false;
  }
  const absl::string_view value = RepairedValue(*device.host, *in_file);
  return value != in_file->value() && (value == "0" || value == "1");
}

// True if the switch is known; otherwise adds a finding. An unreadable entry of
// /etc/hccn.conf is not a fault of the tool; an error about a mute device is.
bool KnowsTls(const ClusterView& view, const DeviceView& device,
              RuleReport& report) {
  const Missing& missing = device.facts->tls().missing();
  if (view.spec().roce_unused() && !view.spec().has_tls() &&
      device.host->facts->hccn_conf().missing().reason() == Missing::ABSENT) {
    report.Add(device, "file-not-needed");
    return false;
  }
  if (missing.reason() == Missing::UNREADABLE && !device.mute) {
    report.Add(device, "unreadable", MissingWords(&missing),
               RepairedFileTellsTls(device) ? "hccn-conf" : "");
    return false;
  }
  if (missing.reason() == Missing::NOT_QUERIED) {
    report.Add(device, "not-asked", MissingWords(&missing));
    return false;
  }
  return report.Knows(device, "TLS switch", device.tls_enabled);
}

FindingValue SwitchWords(bool on) { return Term(on ? "on" : "off"); }

// True if hccn.conf has another value for the next boot than the tool, also
// once hccn-conf's finding is repaired. A missing key changes nothing.
bool FileHasOtherSwitch(const DeviceView& device) {
  absl::string_view in_file = device.facts->tls().value().in_file();
  if (device.conf_tls != nullptr && in_file == device.conf_tls->value()) {
    in_file = RepairedValue(*device.host, *device.conf_tls);
  }
  // The tool reads a number: "01" is on.
  int value = -1;
  return device.tls_enabled.has_value() && !in_file.empty() &&
         (!absl::SimpleAtoi(in_file, &value) || value != *device.tls_enabled);
}

constexpr char kNpuSeries[] = "NPU series";

struct VersionKind {
  absl::string_view name;
  const TextFact& (*fact)(const HostFacts& facts);
  absl::string_view finding;
};

template <auto kGroup, auto kFact>
const TextFact& FactOf(const HostFacts& facts) {
  return ((facts.*kGroup)().*kFact)();
}

// The driver's kernel modules are built for one kernel release.
constexpr VersionKind kVersionKinds[] = {
    {kNpuSeries, FactOf<&HostFacts::identity, &IdentityFacts::npu_series>,
     "mixed-series"},
    {"driver", FactOf<&HostFacts::versions, &VersionFacts::driver>, "mixed"},
    {"firmware", FactOf<&HostFacts::versions, &VersionFacts::firmware>,
     "mixed"},
    {"CANN", FactOf<&HostFacts::versions, &VersionFacts::cann>, "mixed"},
    {"kernel", FactOf<&HostFacts::identity, &IdentityFacts::kernel_release>,
     "mixed"}};

// True if a healthy host may lack it, which is reported without a verdict: CANN
// lives in containers, and PCI ids of some products are not published.
bool MayLack(const VersionKind& kind, const ClusterView& view,
             Missing::Reason missing) {
  if (kind.name == "CANN") {
    return missing == Missing::ABSENT || missing == Missing::NOT_QUERIED;
  }
  return kind.name == kNpuSeries && view.profile().npu_series.empty() &&
         missing == Missing::ABSENT;
}

using HostsByValue = FirstSeen<std::string, std::vector<const HostView*>>;

// `fix_names_right`: the finding's fix names the value of most hosts, without
// which no advice is possible.
void AddGroups(absl::string_view finding, absl::string_view what,
               HostsByValue versions, RuleReport& report,
               bool fix_names_right = false) {
  if (versions.size() < 2) return;
  auto& groups = versions.items();
  Ballot<std::string> ballot;
  for (const auto& [version, hosts] : groups) {
    ballot[version].live = hosts.size();
  }
  const std::optional<std::string> right = Majority(ballot);
  absl::c_stable_sort(groups, [](const auto& a, const auto& b) {
    return a.second.size() < b.second.size();
  });
  for (const auto& [version, hosts] : groups) {
    if (version == right) continue;
    NamedFinding text = report.Named(
        finding, Term(what), Term(version), Counted(hosts.size(), "host"),
        Term(right.value_or("")), Counted(groups.back().second.size(), "host"));
    if (!right.has_value()) {
      NamedFinding tied =
          TiedText(report, {text.state, what, "host"}, ballot, version,
                   [](const std::string& each) { return Term(each); });
      text.expects = tied.expects;
      if (fix_names_right) text = std::move(tied);
    }
    for (const HostView* host : hosts) report.Add(*host, text);
  }
}

// Adds the hosts whose version is not known to `unknown`.
void JudgeVersions(const VersionKind& kind, const ClusterView& view,
                   absl::flat_hash_set<const HostView*>* unknown,
                   RuleReport& report) {
  HostsByValue versions;
  size_t lacking = 0;
  FindingValue reason;
  for (const HostView& host : view.hosts()) {
    const TextFact& fact = kind.fact(*host.facts);
    if (MayLack(kind, view, fact.missing().reason())) {
      if (lacking++ == 0) reason = MissingWords(&fact.missing());
    } else if (report.Knows(host, kind.name, fact)) {
      versions[PrintableText(fact.value())].push_back(&host);
    } else {
      unknown->insert(&host);
    }
  }
  AddGroups(kind.finding, kind.name, std::move(versions), report,
            /*fix_names_right=*/true);
  if (lacking == 0) return;
  report.Note("not-compared-on", Term(kind.name), Counted(lacking, "host"),
              reason);
}

// True if there are hosts to compare with each other; otherwise skips the rule.
bool HasTwoHosts(const ClusterView& view, RuleReport& report) {
  if (view.hosts().size() > 1) return true;
  report.SkipFor("fewer-than-two-hosts");
  return false;
}

// True if all of "A2 x 7, A3 x 1" are of the series.
bool AllOfSeries(absl::string_view text, absl::string_view series) {
  for (absl::string_view part : absl::StrSplit(text, ',')) {
    part = absl::StripAsciiWhitespace(part);
    if (part.substr(0, part.find(' ')) != series) return false;
  }
  return true;
}

// Compares the series with the product; unknown ones were reported before.
void JudgeSeries(const ClusterView& view, RuleReport& report) {
  const std::string& expected = view.profile().npu_series;
  for (const HostView& host : view.hosts()) {
    const TextFact& fact = host.facts->identity().npu_series();
    if (!IsKnown(fact) || AllOfSeries(fact.value(), expected)) continue;
    report.Add(host, "other-series", QuotedText(fact.value()), expected,
               Term(view.profile().title));
  }
}

void JudgeRails(const ClusterView& view, absl::string_view what,
                Reading<uint64_t> DeviceView::*live, RuleReport& report) {
  CompareRails(
      view, what, live, [](uint64_t value) { return absl::StrCat(value); },
      report,
      [&](const DeviceView& device, uint64_t right, size_t others) {
        report.Add(device, "other", *(device.*live), right, device.id,
                   Counted(others, "other host"));
      });
}

}  // namespace

// Devices whose subnets overlap are of one subnet and must agree.
void CheckNetmaskUniform(const ClusterView& view, RuleReport& report) {
  std::map<Ipv4Subnet, Votes> subnets;
  report.ForEachAddress([&](const DeviceView& device) {
    report.Judged(device);
    Votes& votes = subnets[device.Address().subnet()];
    ++votes.live;
    if (device.HasPlannedAddress()) ++votes.planned;
  });
  const SubnetFamilies families = GroupOverlapping(subnets);
  const bool any_mixed = absl::c_any_of(
      families, [](const auto& family) { return family.second.size() > 1; });
  if (!any_mixed) return;
  for (const DeviceView& device : view.devices()) {
    if (!device.HasAddress()) continue;
    const Ipv4Subnet subnet = device.Address().subnet();
    const auto& [widest, lengths] = *std::prev(families.upper_bound(subnet));
    JudgeMask(device, widest, lengths, report);
  }
}

// Compares all devices of the cluster with each other, or with spec.tls.
void CheckTlsUniform(const ClusterView& view, RuleReport& report) {
  Ballot<bool> switches;
  bool files_agree = true;
  report.ForEachDevice([&](const DeviceView& device) {
    if (!KnowsTls(view, device, report)) return;
    report.Judged(device);
    ++switches[*device.tls_enabled].live;
    if (FileHasOtherSwitch(device)) files_agree = false;
  });
  if (switches.empty()) return;
  const bool planned = view.spec().has_tls();
  const std::optional<bool> majority =
      planned ? std::make_optional(view.spec().tls()) : Majority(switches);
  const bool right = majority.value_or(false);
  if (switches.count(!right) == 0 && files_agree) return;
  const FindingValue others = Counted(switches[right].live, "other device");
  for (const DeviceView& device : view.devices()) {
    NamedFinding text;
    if (device.tls_enabled.has_value() && !majority.has_value()) {
      text = TiedText(report, {FAIL, "TLS switch", "device"}, switches,
                      *device.tls_enabled, SwitchWords);
    } else if (device.tls_enabled.value_or(right) != right) {
      text =
          report.Named(planned ? "unlike-spec" : "other", SwitchWords(!right),
                       SwitchWords(right), right ? 1 : 0, others);
    } else if (FileHasOtherSwitch(device)) {
      // One command sets a wrong switch in both.
      text = report.Named("other-in-file", SwitchWords(right),
                          QuotedText(device.facts->tls().value().in_file()),
                          right ? 1 : 0);
    } else {
      continue;
    }
    text.by_hand = !planned;
    report.Add(device, std::move(text));
  }
}

// Warns. Compares device i of all hosts with each other, or with spec.mtu.
void CheckMtuUniform(const ClusterView& view, RuleReport& report) {
  report.ForEachKnown("MTU", &DeviceView::mtu,
                      [&](const DeviceView& device) { report.Judged(device); });
  if (!view.spec().has_mtu()) {
    return JudgeRails(view, "MTU", &DeviceView::mtu, report);
  }
  const uint64_t right = view.spec().mtu();
  for (const DeviceView& device : view.devices()) {
    if (device.mtu.value_or(right) == right) continue;
    report.Add(device, "unlike-spec", *device.mtu, right);
  }
}

// Warns. A number of cluster.yaml is judged by listen-backlog and syn-backlog.
void CheckBacklogUniform(const ClusterView& view, RuleReport& report) {
  if (!HasTwoHosts(view, report)) return;
  bool any_open = false;
  absl::flat_hash_set<const HostView*> unknown;
  for (const KernelParameter& backlog : KernelParameters()) {
    if (backlog.is_ports() || !(view.spec().kernel().*backlog.is_auto)()) {
      continue;
    }
    any_open = true;
    HostsByValue values;
    for (const HostView& host : view.hosts()) {
      const NumberFact& fact = (host.facts->kernel().*backlog.number)();
      if (report.Knows(host, backlog.key, fact)) {
        const uint64_t value =
            std::min<uint64_t>(fact.value(), kAdvisedBacklog);
        values[absl::StrCat(value)].push_back(&host);
      } else {
        unknown.insert(&host);
      }
    }
    AddGroups("mixed", backlog.key, std::move(values), report);
  }
  if (!any_open) return report.SkipFor("backlogs-planned");
  for (const HostView& host : view.hosts()) {
    if (!unknown.contains(&host)) report.Judged(host);
  }
}

// Warns. Compares HCCL's range only, since other programs of a host may have
// theirs; ports-reserved reports invalid lists.
void CheckPortsUniform(const ClusterView& view, RuleReport& report) {
  const HcclSpec& hccl = view.spec().hccl();
  if (!hccl.base_port_auto() || !hccl.port_count_auto()) {
    return report.SkipFor("ports-planned");
  }
  if (!HasTwoHosts(view, report)) return;
  std::optional<PortSet> range;
  HostsByValue lists;
  for (const HostView& host : view.hosts()) {
    const TextFact& fact = host.facts->kernel().reserved_ports();
    if (!report.Knows(host, "list of reserved ports", fact)) continue;
    report.Judged(host);
    const PortSet own =
        HandedOut(HcclPortsOn(view.spec(), *host.facts, view.job()).possible,
                  *host.facts);
    // Rule environment-uniform reports hosts whose variables give other ports.
    if (own != range.emplace(range.value_or(own))) continue;
    const absl::StatusOr<PortSet> ports = PortSet::Parse(fact.value());
    const std::string list = ports.ok()
                                 ? own.Minus(own.Minus(*ports)).ToString()
                                 : PrintableText(fact.value());
    lists[list.empty() ? "no ports" : list].push_back(&host);
  }
  AddGroups("mixed", range.value_or(PortSet()).ToString(), std::move(lists),
            report);
}

// Compares device i of all hosts with a known speed, which needs a link.
void CheckSpeedUniform(const ClusterView& view, RuleReport& report) {
  size_t unread = 0;
  FindingValue why;
  report.ForEachDevice([&](const DeviceView& device) {
    const Missing* missing = device.speed.missing;
    if (missing != nullptr && missing->reason() == Missing::NOT_SUPPORTED) {
      if (unread++ == 0) why = MissingWords(missing);
    } else if (!device.speed.has_value() && device.link == LinkFact::DOWN) {
      report.AddSkipped(device, "the link is DOWN", "link");
    } else if (report.Knows(device, "speed", device.speed)) {
      report.Judged(device);
    }
  });
  JudgeRails(view, "speed in Mb/s", &DeviceView::speed, report);
  if (unread == 0) return;
  report.Note("no-speed-from", Counted(unread, "device"), why);
  report.SkipFor("skipped-since", why);
}

// Driver, firmware, CANN and kernel warn, the NPU series fails. The smallest
// group comes first. A single host has no versions to compare with. Values that
// a healthy host may lack must not hide the others behind a permanent unknown:
// the summary says that they were not compared.
void CheckVersionUniform(const ClusterView& view, RuleReport& report) {
  absl::flat_hash_set<const HostView*> unknown;
  for (const VersionKind& kind : kVersionKinds) {
    JudgeVersions(kind, view, &unknown, report);
  }
  const bool series_planned = !view.profile().npu_series.empty();
  if (series_planned) JudgeSeries(view, report);
  if (!series_planned && !HasTwoHosts(view, report)) return;
  for (const HostView& host : view.hosts()) {
    if (!unknown.contains(&host)) report.Judged(host);
  }
}

// A root that the controller does not have fails; a missing one warns: a bundle
// is on its way. If the controller's roots are not known, compares the hosts.
void CheckRootsUniform(const ClusterView& view, RuleReport& report) {
  const auto set_of = [](const RootsFact::Roots& roots) {
    return std::set<std::string>(roots.hashes().begin(), roots.hashes().end());
  };
  const auto text_of = [](const std::set<std::string>& roots) {
    return PrintableText(absl::StrJoin(roots, " "), kMaxRootsBytes);
  };
  const RootsFact::Roots* sent = nullptr;
  Ballot<std::set<std::string>> votes;
  for (const HostView& host : view.hosts()) {
    if (!report.Knows(host, "CA roots", host.facts->roots())) continue;
    ++votes[set_of(host.facts->roots().value())].live;
    if (host.facts->has_controller_roots()) {
      sent = &host.facts->controller_roots();
    }
  }
  if (votes.empty() || (sent == nullptr && !HasTwoHosts(view, report))) return;
  const auto right =
      sent != nullptr ? std::make_optional(set_of(*sent)) : Majority(votes);
  for (const HostView& host : view.hosts()) {
    if (!IsKnown(host.facts->roots())) continue;
    report.Judged(host);
    const RootsFact::Roots& roots = host.facts->roots().value();
    const auto own = set_of(roots);
    if (!right.has_value()) {
      report.Add(host, TiedText(report, {FAIL, "set of CA roots", "host"},
                                votes, own, text_of));
    } else if (own != *right) {
      report.Add(host, absl::c_includes(*right, own) ? "less" : "more",
                 text_of(own), text_of(*right),
                 Term(sent != nullptr ? "the controller" : "most hosts"));
    } else if (sent != nullptr && roots.bundle() != sent->bundle() &&
               roots.bundle() > 0) {  // 0: by hand.
      report.Add(host, "other-bundle", roots.bundle(), sent->bundle());
    }
  }
}

}  // namespace clusterd
