#include "daemon/controller/change/touched_rules.h"

#include <map>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "config/rules/catalogue.h"
#include "config/words/state_word.h"

namespace clusterd {

RuleSelection TouchedRules(const ClusterPlan& plan) {
  std::set<std::string> set;
  for (const HostPlan& host : plan.hosts()) {
    for (const PlanStep& step : host.steps()) {
      set.insert(step.setting());
      set.insert(step.target().kernel_parameter());
    }
  }
  RuleSelection selection;
  for (const Rule& rule : RuleCatalogue()) {
    const std::vector<std::string> mends =
        absl::StrSplit(rule.mended_by, '/', absl::SkipEmpty());
    const bool is_touched = absl::c_any_of(
        mends,
        [&set](const std::string& setting) { return set.count(setting) > 0; });
    if (is_touched && !rule.needs_job)
      selection.add_only(std::string(rule.name));
  }
  return selection;
}

namespace {

// The worst that each rule may say of each host.
using Meant = std::map<std::pair<std::string, std::string>, State>;

Meant MeantBy(const ClusterPlan& plan) {
  Meant meant;
  for (const HostPlan& host : plan.hosts()) {
    for (const UnmendedRule& left : host.unmended()) {
      // Nobody promised that a failure which steps elsewhere might mend goes.
      const Rule* const rule = FindRule(left.rule());
      const bool in_doubt = rule != nullptr && !rule->perhaps_by.empty() &&
                            left.state() == UNKNOWN;
      meant[{host.host(), left.rule()}] = in_doubt ? FAIL : left.state();
    }
  }
  return meant;
}

}  // namespace

std::string WhatIsWrong(const ClusterPlan& plan,
                        const std::set<std::string>& hosts,
                        const Report& check) {
  const Meant meant = MeantBy(plan);
  const auto is_meant = [&meant](const std::string& host,
                                 const std::string& rule, State state) {
    const auto left = meant.find({host, rule});
    return left != meant.end() && state <= left->second;
  };
  std::string first;
  std::set<std::pair<std::string, std::string>> wrong;
  // No rule says anything about a host that does not answer.
  std::set<std::string> silent = hosts;
  for (const HostStatus& host : check.hosts()) {
    if (host.no_facts_reason().empty()) silent.erase(host.host());
  }
  for (const std::string& host : silent) {
    wrong.emplace(host, "");
    if (first.empty()) first = absl::StrCat("no facts of ", host);
  }
  for (const RuleResult& result : check.rules()) {
    for (const Finding& finding : result.findings()) {
      if (finding.state() == SKIPPED || finding.state() == PASS) continue;
      for (const Subject& subject : finding.subjects()) {
        const std::string& host = subject.host();
        if (hosts.count(host) == 0 ||
            is_meant(host, result.rule(), finding.state()) ||
            is_meant(host, finding.caused_by(), finding.state())) {
          continue;
        }
        wrong.emplace(host, result.rule());
        if (!first.empty()) continue;
        first = absl::StrCat(result.rule(), " on ", host, " (",
                             StateWord(finding.state()), ")");
      }
    }
  }
  if (wrong.size() < 2) return first;
  return absl::StrCat(first, ", and ", wrong.size() - 1, " more");
}

}  // namespace clusterd
