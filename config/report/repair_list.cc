#include "config/report/repair_list.h"

#include <set>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "config/report/finding_overview.h"
#include "config/words/number_text.h"
#include "config/words/state_word.h"
#include "config/words/words.h"

namespace clusterd {
namespace {

constexpr int kWordsColumns = 100;
constexpr int kHostsColumns = 40;
constexpr size_t kOwnCommands = 4;    // Besides one for `clusterctl plan`.
constexpr size_t kRepairsOfRule = 3;  // More of a rule become one.
// Findings of rule device-ip-set, whose value is the number of planned values.
constexpr absl::string_view kNeverConfigured = "never-configured";

// The words of a fix without a command for single devices, or the command if it
// is the whole fix. Long words are those of explain.
std::string HowText(const Finding& finding) {
  const std::string& words =
      finding.short_fix().empty() ? FixWords(finding) : finding.short_fix();
  if (words.empty() && !finding.command().empty()) {
    return absl::StrCat("`", finding.command(), "`");
  }
  if (words.empty() || TextColumns(words) > kWordsColumns) {
    return Say("repair-explain", finding.rule());
  }
  return absl::StrReplaceAll(words, {{"\n", "; "}});
}

void AddRule(const std::string& rule, Repair* repair) {
  if (absl::c_linear_search(repair->rules, rule)) return;
  repair->rules.push_back(rule);
}

void Merge(const Repair& other, Repair* repair) {
  if (repair->rules.empty()) repair->causes = 0;
  repair->causes += other.causes;
  repair->state = WorseState(repair->state, other.state);
  repair->subjects.MergeFrom(other.subjects);
  for (const std::string& rule : other.rules) AddRule(rule, repair);
}

// Findings with the same rule and repair, all waived or all not.
struct Draft {
  Repair repair;
  std::set<const Finding*> roots;
  bool by_plan = false;
  size_t devices = 0, values = 0;  // For hosts never configured.
};
using RuleOrWaived = std::pair<std::string, bool>;
using Drafts = FirstSeen<std::pair<RuleOrWaived, std::string>, Draft>;

// The name of the words for the cabling rules' result about the host.
const char* CablingOf(const Report& report, absl::string_view host) {
  State worst = PASS;
  int judging = 0;
  for (const RuleResult& rule : report.rules()) {
    const bool sees_all = rule.rule() == "link" || rule.rule() == "lldp";
    if (!sees_all && rule.rule() != "lldp-rail") continue;
    if (sees_all && rule.state() != SKIPPED) ++judging;
    for (const Finding& finding : rule.findings()) {
      if (FirstWith(finding.subjects(), &Subject::host, host) != nullptr) {
        worst = WorseState(worst, finding.state());
      }
    }
  }
  if (worst == FAIL || worst == WARN) return "cabling-faulty";
  return worst == PASS && judging == 2 ? "cabling-fine" : "cabling-unknown";
}

Drafts DraftsOf(const Report& report) {
  const FindingRoots roots(report);
  Drafts drafts;
  ForEachTrouble(report, [&](const Finding& finding, const Subject& subject) {
    const Finding& root = roots.Of(finding, subject);
    const bool is_new =
        absl::StartsWith(root.finding(), kNeverConfigured) &&
        !root.values().empty() &&
        FirstWith(root.subjects(), &Subject::host, subject.host()) != nullptr;
    const std::string& cause = root.caused_by();
    Draft& draft = drafts[{{is_new          ? root.finding()
                            : cause.empty() ? root.rule()
                                            : cause,
                            root.has_waiver()},
                           is_new ? CablingOf(report, subject.host())
                           : root.fixed_by_plan() ? ""
                                                  : HowText(root)}];
    draft.by_plan = root.fixed_by_plan() && !is_new;
    draft.roots.insert(&root);
    Repair& repair = draft.repair;
    repair.state = WorseState(repair.state, finding.state());
    if (&root == &finding) *repair.subjects.Add() = subject;
    if (&root == &finding && is_new) {
      repair.subjects.rbegin()->clear_devices();
      draft.devices += subject.devices_size();
      draft.values += root.values(0).number();
    }
    if (repair.rules.empty()) AddRule(root.rule(), &repair);
    AddRule(finding.rule(), &repair);
  });
  return drafts;
}

std::set<std::string> HostsOf(const Repair& repair) {
  std::set<std::string> hosts;
  for (const Subject& subject : repair.subjects) hosts.insert(subject.host());
  return hosts;
}

// One line for everything that a plan fixes, and separate lines for the few
// that are one command on a host that needs no other.
std::vector<Repair> PlanRepairs(const Drafts& drafts, bool waived) {
  std::map<std::string, int> needs;
  for (const auto& [key, draft] : drafts) {
    if (!draft.by_plan || key.first.second != waived) continue;
    for (const std::string& host : HostsOf(draft.repair)) ++needs[host];
  }
  std::vector<Repair> own;
  Repair planned, all;
  for (const auto& [key, draft] : drafts) {
    if (!draft.by_plan || key.first.second != waived) continue;
    Merge(draft.repair, &all);
    const Finding& root = **draft.roots.begin();
    const bool is_one = draft.roots.size() == 1 &&
                        draft.repair.subjects.size() == 1 &&
                        needs[draft.repair.subjects[0].host()] == 1;
    if (!is_one || root.fix().empty()) {
      Merge(draft.repair, &planned);
      continue;
    }
    own.push_back(draft.repair);
    own.back().how = HowText(root);
  }
  if (own.size() > kOwnCommands) {
    own.clear();
    planned = all;
  }
  if (planned.rules.empty()) return own;
  for (Subject& subject : planned.subjects) subject.clear_devices();
  planned.how = Say("repair-by-plan");
  own.push_back(planned);
  return own;
}

}  // namespace

std::vector<Repair> ListRepairs(const Report& report) {
  const Drafts drafts = DraftsOf(report);
  std::vector<Repair> repairs = PlanRepairs(drafts, /*waived=*/false);
  absl::c_move(PlanRepairs(drafts, /*waived=*/true),
               std::back_inserter(repairs));
  FirstSeen<RuleOrWaived, std::vector<Repair>> by_rule;
  for (const auto& [key, draft] : drafts) {
    if (draft.by_plan) continue;
    by_rule[key.first].push_back(draft.repair);
    Repair& repair = by_rule[key.first].back();
    repair.how = draft.values == 0
                     ? key.second
                     : Say(absl::StrCat("repair-", key.first.first),
                           Count(draft.devices, "device"), Say(key.second),
                           draft.values);
    const Finding& root = **draft.roots.begin();
    const bool is_one = draft.roots.size() == 1 && !FixWords(root).empty();
    if (is_one) repair.command = root.command();
  }
  for (auto& [rule, all] : by_rule.items()) {
    if (all.size() > kRepairsOfRule) {
      Repair folded;
      for (const Repair& each : all) Merge(each, &folded);
      folded.how = Say("repair-explain", rule.first);
      all = {folded};
    }
    absl::c_copy(all, std::back_inserter(repairs));
  }
  absl::c_stable_sort(repairs, [](const Repair& a, const Repair& b) {
    return std::make_pair(a.state, a.rules.size()) >
           std::make_pair(b.state, b.rules.size());
  });
  return repairs;
}

std::string MoreCauses(const Report& report, size_t causes) {
  const std::string more = Count(causes, "more cause");
  return report.run_id().empty() ? Say("repair-more-here", more)
                                 : Say("repair-more", more, report.run_id());
}

std::string RepairLine(const Repair& repair) {
  const std::set<std::string> hosts = HostsOf(repair);
  std::string who = SubjectsText(repair.subjects, 2, kHostsColumns);
  if (hosts.size() > 1 && who.size() > 2 * kHostsColumns) {
    who = Count(hosts.size(), "host");
  }
  const std::string rules =
      repair.rules.size() <= 3
          ? absl::StrJoin(repair.rules, ", ")
          : Say("repair-rules", Count(repair.rules.size(), "rule"),
                FirstOf(repair.rules, 2));
  return Say("repair-line", who, repair.how, rules);
}

}  // namespace clusterd
