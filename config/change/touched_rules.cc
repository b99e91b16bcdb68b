#include "config/change/touched_rules.h"

#include <map>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/str_split.h"
#include "config/rules/catalogue.h"
#include "config/values/setting.h"
#include "config/words/state_word.h"

namespace clusterd {
namespace {

// The worst state that the plan allows each rule on each host.
using Meant = std::map<std::pair<std::string, std::string>, State>;

Meant MeantBy(const ClusterPlan& plan) {
  Meant meant;
  for (const HostPlan& host : plan.hosts()) {
    for (const UnfixedRule& left : host.unfixed()) {
      // Other steps might fix it, but the plan did not promise that.
      const Rule* const rule = FindRule(left.rule());
      const bool in_doubt = rule != nullptr && !rule->possible_causes.empty() &&
                            left.state() == UNKNOWN;
      meant[{host.host(), left.rule()}] = in_doubt ? FAIL : left.state();
    }
  }
  return meant;
}

}  // namespace

RuleSelection TouchedRules(const ClusterPlan& plan) {
  // Names of settings and kernel parameters.
  std::set<std::string> set;
  for (const HostPlan& host : plan.hosts()) {
    for (const PlanStep& step : host.steps()) {
      set.insert(SettingName(step.setting()));
      set.insert(step.target().kernel_parameter());
    }
  }
  RuleSelection selection;
  for (const Rule& rule : RuleCatalogue()) {
    const std::vector<std::string> fixes =
        absl::StrSplit(rule.fixed_by, '/', absl::SkipEmpty());
    const bool is_touched = absl::c_any_of(
        fixes,
        [&set](const std::string& setting) { return set.count(setting) > 0; });
    if (is_touched && !rule.needs_job)
      selection.add_only(std::string(rule.name));
  }
  return selection;
}

FindingValue WhatIsWrong(const ClusterPlan& plan,
                         const std::set<std::string>& hosts,
                         const Report& check) {
  const Meant meant = MeantBy(plan);
  const auto is_meant = [&meant](const std::string& host,
                                 const std::string& rule, State state) {
    const auto left = meant.find({host, rule});
    return left != meant.end() && state <= left->second;
  };
  FindingValue first;
  std::set<std::pair<std::string, std::string>> wrong;
  // Rules do not report a host that does not answer.
  std::set<std::string> silent = hosts;
  for (const HostStatus& host : check.hosts()) {
    if (!host.has_no_facts()) silent.erase(host.host());
  }
  for (const std::string& host : silent) {
    wrong.emplace(host, "");
    if (first.words().empty()) first = Worded("hub-no-facts-of", host);
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
        if (!first.words().empty()) continue;
        first = Worded("hub-rule-on", result.rule(), host,
                       StateWords(finding.state()));
      }
    }
  }
  if (wrong.size() < 2) return first;
  return Worded("hub-and-more", first, wrong.size() - 1);
}

}  // namespace clusterd
