#include "config/rules/drift_rules.h"

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "absl/time/time.h"

namespace clusterd {
namespace {

// A host lists fewer; one that sends more is not believed further.
constexpr int kMaxDriftsOfHost = 512;

// Of a step: a firewall may let in many ports from many addresses.
constexpr size_t kMaxGoalsShown = 8;

// Hosts run one apply minutes apart: its first start stands for all of them, so
// that what is the same on many hosts reads the same.
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
    ForEachDrift(host.facts->drift().value().untold(), add);
  }
  return starts;
}

// As a word of a command: the id came from a host.
std::string IdWord(const std::string& id) {
  const bool plain =
      !id.empty() && std::all_of(id.begin(), id.end(), [](char c) {
        return absl::ascii_isalnum(static_cast<unsigned char>(c));
      });
  return plain ? Printable(id) : ShellQuoted(Printable(id));
}

// "apply 0123456789abcdef by alice, 2026-11-21 22:04 UTC".
std::string ApplyText(const AppliedDrift& drift, const FirstStarts& starts) {
  const absl::Time at = absl::FromUnixMillis(starts.at(drift.apply_id()));
  return absl::StrCat(
      "apply ", Printable(drift.apply_id()), " by ",
      drift.applied_by().empty() ? "unknown" : Printable(drift.applied_by()),
      ", ", absl::FormatTime("%Y-%m-%d %H:%M UTC", at, absl::UTCTimeZone()));
}

// Without "device 3: " where the subject says it, so that devices fold.
std::string WithoutDevice(const AppliedDrift& drift, absl::string_view text) {
  if (drift.devices_size() == 1) {
    absl::ConsumePrefix(&text, absl::StrCat("device ", drift.devices(0), ": "));
  }
  return Printable(text, 600);
}

void AddAbout(const HostView& host, const AppliedDrift& drift, FindingText text,
              RuleReport& report) {
  std::vector<uint32_t> devices(drift.devices().begin(), drift.devices().end());
  devices.resize(std::min(devices.size(), kMaxDevicesOfHost));
  if (devices.empty()) {
    report.Add(host, std::move(text));
  } else {
    report.Add(host, devices, std::move(text));
  }
}

// "firewalld: lets in 22-22/tcp from 10.0.0.1/32" is "22/tcp from 10.0.0.1/32",
// with "firewalld: let in " in front of the first: the words of the step.
// Empty: no goal of an opened firewall.
std::string LetInText(const AppliedDrift::Goal& goal, bool is_first) {
  const std::vector<std::string> parts =
      absl::StrSplit(goal.target(), absl::MaxSplits(": lets in ", 1));
  if (parts.size() < 2) return "";
  std::string rule = parts[1];
  const std::vector<std::string> ports =
      absl::StrSplit(rule.substr(0, rule.find('/')), '-');
  if (ports.size() == 2 && ports[0] == ports[1]) {
    rule.erase(0, ports[0].size() + 1);
  }
  return Printable(is_first ? absl::StrCat(parts[0], ": let in ", rule) : rule);
}

std::string AppliedText(const AppliedDrift& drift) {
  std::vector<std::string> applied;
  int left_out = 0;
  for (const AppliedDrift::Goal& goal : drift.goals()) {
    std::string to = LetInText(goal, applied.empty());
    if (to.empty()) to = Printable(goal.to());
    if (!applied.empty() && applied.back() == to) continue;
    if (applied.size() == kMaxGoalsShown) {
      ++left_out;
    } else {
      applied.push_back(std::move(to));
    }
  }
  if (applied.empty()) return "what was set";
  if (left_out > 0) applied.push_back(absl::StrCat(left_out, " more"));
  return absl::StrJoin(applied, ", ");
}

void AddDrifted(const HostView& host, const AppliedDrift& drift,
                const FirstStarts& starts, RuleReport& report) {
  FindingText text;
  text.state = WARN;
  text.observed = WithoutDevice(drift, drift.why());
  text.expected =
      absl::StrCat(AppliedText(drift), " by ", ApplyText(drift, starts));
  // A host refuses to take back what has changed since, and this has.
  text.fix = absl::StrCat(
      "clusterctl plan --out drift.plan && clusterctl apply drift.plan; or "
      "take that apply back: clusterctl rollback ",
      IdWord(drift.apply_id()), " --force (admin), which overwrites it");
  AddAbout(host, drift, std::move(text), report);
}

void AddUntold(const HostView& host, const AppliedDrift& drift,
               const FirstStarts& starts, RuleReport& report) {
  FindingText text;
  text.state = UNKNOWN;
  text.observed =
      absl::StrCat("drift not known: ", WithoutDevice(drift, drift.why()));
  text.expected = absl::StrCat("what was set by ", ApplyText(drift, starts));
  text.fix =
      "clusterctl describe HOST says why clusterd cannot read that; repair it, "
      "then check again";
  AddAbout(host, drift, std::move(text), report);
}

void SkipHost(const HostView& host, RuleReport& report) {
  FindingText text;
  text.state = SKIPPED;
  text.observed = "the host keeps no record of applies";
  text.fix =
      "run clusterd there as a service, of the controller's version: only the "
      "service keeps one";
  report.Add(host, std::move(text));
}

// A host does not compare only while a change of its own is under way.
void AddUnknownDrift(const HostView& host, const DriftFact& fact,
                     RuleReport& report) {
  const Missing* missing = MissingOf(fact);
  if (missing == nullptr || missing->reason() != Missing::NOT_QUERIED) {
    return report.AddUnknown(host, "drift", fact);
  }
  FindingText text{UNKNOWN};
  text.observed = absl::StrCat("drift not known: ", WhyMissing(missing));
  text.fix = "wait until it ends, then check again";
  report.Add(host, std::move(text));
}

bool HasRecord(const HostView& host) {
  return host.facts->drift().state_case() != DriftFact::STATE_NOT_SET;
}

}  // namespace

void CheckDrift(const ClusterView& view, RuleReport& report) {
  const FirstStarts starts = FindFirstStarts(view);
  const bool all_have_records =
      std::all_of(view.hosts().begin(), view.hosts().end(), HasRecord);
  uint64_t left_out = 0;
  for (const HostView& host : view.hosts()) {
    const DriftFact& fact = host.facts->drift();
    if (!HasRecord(host)) {
      SkipHost(host, report);
      continue;
    }
    if (!IsKnown(fact)) {
      AddUnknownDrift(host, fact, report);
      continue;
    }
    if (all_have_records) report.Judged(host);
    ForEachDrift(fact.value().drifts(), [&](const AppliedDrift& drift) {
      AddDrifted(host, drift, starts, report);
    });
    ForEachDrift(fact.value().untold(), [&](const AppliedDrift& drift) {
      AddUntold(host, drift, starts, report);
    });
    left_out += fact.value().left_out();
  }
  if (left_out > 0) {
    report.AddNote(absl::StrCat(left_out, " more are not listed"));
  }
}

}  // namespace clusterd
