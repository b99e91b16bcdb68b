// Checks that hosts still are as applies left them. The facts say what drifted
// (config/plan/applied_drift.h); the rule explains it.
#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "config/plan/settings.h"
#include "config/rules/rule_report.h"
#include "config/rules/view/cluster_view.h"
#include "config/words/number_text.h"
#include "config/words/subject_text.h"

namespace clusterd {
namespace {

// A host lists fewer; further ones are ignored.
constexpr int kMaxDriftsOfHost = 512;

// A firewall may open many ports to many addresses.
constexpr size_t kMaxRulesShown = 8;
constexpr size_t kMaxWhyBytes = 600;

// Hosts run one apply minutes apart: the first start stands for all, so that
// equal findings of many hosts read the same.
using FirstStarts = std::map<std::string, int64_t>;

template <typename Visit>
void ForEachDrift(const google::protobuf::RepeatedPtrField<AppliedDrift>& list,
                  Visit visit) {
  for (int i = 0; i < std::min(list.size(), kMaxDriftsOfHost); ++i) {
    visit(list.Get(i));
  }
}

FirstStarts FindFirstStarts(const ClusterView& view) {
  FirstStarts starts;
  const auto add = [&starts](const AppliedDrift& drift) {
    const auto [slot, is_new] =
        starts.emplace(drift.apply_id(), drift.applied_at_ms());
    if (!is_new) slot->second = std::min(slot->second, drift.applied_at_ms());
  };
  for (const HostView& host : view.hosts()) {
    ForEachDrift(host.facts->drift().value().drifts(), add);
    ForEachDrift(host.facts->drift().value().unknown(), add);
  }
  return starts;
}

// The id for a command line: it came from a host and may need quotes.
std::string IdWord(const std::string& id) {
  const bool plain = !id.empty() && absl::c_all_of(id, absl::ascii_isalnum);
  return plain ? PrintableText(id) : ShellQuoted(PrintableText(id));
}

// "apply 0123456789abcdef by alice, 2026-11-21 22:04 UTC".
FindingValue ApplyWords(const AppliedDrift& drift, const FirstStarts& starts) {
  const absl::Time at = absl::FromUnixMillis(starts.at(drift.apply_id()));
  const std::string user = PrintableText(ActorName(drift.applied_by()));
  return Worded("drift-apply-by", PrintableText(drift.apply_id()),
                user.empty() ? Worded("unknown-user") : ToFindingValue(user),
                UtcMinute(at));
}

std::vector<uint32_t> DevicesOf(const AppliedDrift& drift) {
  const auto& ids = drift.devices();
  return {ids.begin(),
          ids.begin() + std::min<size_t>(ids.size(), kMaxDevicesOfHost)};
}

// The steps of one finding: one, or all of an apply that open one firewall.
using Group = std::vector<const AppliedDrift*>;

// True if both are one finding: ports of one firewall and apply.
bool AreOneGroup(const AppliedDrift& a, const AppliedDrift& b) {
  const SettingTarget& of_a = a.target().target();
  const SettingTarget& of_b = b.target().target();
  return of_a.has_rule() && of_b.has_rule() && a.apply_id() == b.apply_id() &&
         of_a.rule().program() == of_b.rule().program();
}

std::vector<Group> Grouped(
    const google::protobuf::RepeatedPtrField<AppliedDrift>& list) {
  std::vector<Group> groups;
  ForEachDrift(list, [&groups](const AppliedDrift& drift) {
    if (groups.empty() || !AreOneGroup(*groups.back().front(), drift)) {
      groups.emplace_back();
    }
    groups.back().push_back(&drift);
  });
  return groups;
}

// "22/tcp from 10.0.0.1/32".
std::string PortsText(const AllowedPort& port) {
  return PrintableText(
      absl::StrCat(RangeText(port.first_port(), port.last_port()), "/",
                   port.protocol(), " from ", port.source()));
}

// The ports that were opened; for any other target, the value that was set.
FindingValue AppliedWords(const Group& group) {
  const AppliedDrift& first = *group.front();
  const SettingTarget& target = first.target().target();
  if (target.has_rule()) {
    std::vector<std::string> ports;
    for (const AppliedDrift* drift : group) {
      ports.push_back(PortsText(drift->target().target().rule().port()));
    }
    return Worded("ports-let-in", FirewallName(target.rule().program()),
                  Listed(ports, kMaxRulesShown));
  }
  if (IsUnknown(first.to())) return Worded("what-was-set");
  return ToFindingValue(PrintableText(SettingText(first.to())));
}

FindingValue WhyWords(const AppliedDrift& drift) {
  if (!drift.has_fact()) {
    return ToFindingValue(PrintableText(drift.why(), kMaxWhyBytes));
  }
  // The subject names the device, and without it devices fold.
  const bool is_of_subject = drift.devices_size() == 1 &&
                             drift.fact().has_setting() &&
                             drift.fact().target().has_device();
  return DriftWords(
      PrintableText(is_of_subject ? SettingName(drift.fact().setting())
                                  : FactKeyText(drift.fact()),
                    kMaxWhyBytes),
      PrintableText(SettingText(drift.now()), kMaxWhyBytes),
      PrintableText(SettingText(drift.was()), kMaxWhyBytes));
}

// A shared reason, such as a stopped firewall, stands there once.
FindingValue WhyWords(const Group& group) {
  FindingValue all = WhyWords(*group.front());
  size_t bytes = 0;
  for (size_t i = 1; i < group.size() && bytes < kMaxWhyBytes; ++i) {
    bytes += group[i - 1]->why().size();
    if (group[i]->why() == group[i - 1]->why()) continue;
    all = Worded("plan-say-both", all, WhyWords(*group[i]));
  }
  return all;
}

bool HasRecord(const HostView& host) {
  return host.facts->drift().state_case() != DriftFact::STATE_NOT_SET;
}

}  // namespace

// Warns for every step that no longer holds; the value itself fails in its own
// rule if the spec requires it. A value that a host cannot read is unknown.
// Passes only if every host keeps a record of its applies; others are skipped.
void CheckDrift(const ClusterView& view, RuleReport& report) {
  const FirstStarts starts = FindFirstStarts(view);
  const bool all_have_records = absl::c_all_of(view.hosts(), HasRecord);
  uint64_t left_out = 0;
  for (const HostView& host : view.hosts()) {
    const DriftFact& fact = host.facts->drift();
    if (!HasRecord(host)) {
      report.Add(host, "no-record");
      continue;
    }
    // A host skips the comparison only during a change of its own.
    if (fact.missing().reason() == Missing::NOT_QUERIED) {
      report.Add(host, "not-compared", MissingWords(&fact.missing()));
    } else if (report.Knows(host, "drift", fact) && all_have_records) {
      report.Judged(host);
    }
    if (!fact.value().unfinished().empty()) {
      report.Add(host, "half-made",
                 fact.value().has_unfinished_words()
                     ? PrintableWords(fact.value().unfinished_words())
                     : ToFindingValue(PrintableText(fact.value().unfinished(),
                                                    kMaxWhyBytes)));
    }
    for (const Group& group : Grouped(fact.value().drifts())) {
      const AppliedDrift& drift = *group.front();
      report.Add(
          host, DevicesOf(drift),
          report.Named("drifted", WhyWords(group), AppliedWords(group),
                       ApplyWords(drift, starts), IdWord(drift.apply_id())));
    }
    for (const Group& group : Grouped(fact.value().unknown())) {
      const AppliedDrift& drift = *group.front();
      report.Add(host, DevicesOf(drift),
                 report.Named("unreadable", WhyWords(group),
                              ApplyWords(drift, starts)));
    }
    left_out += fact.value().left_out();
  }
  if (left_out > 0) report.Note("drifts-left-out", left_out);
}

}  // namespace clusterd
