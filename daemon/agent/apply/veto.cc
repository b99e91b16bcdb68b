#include "daemon/agent/apply/veto.h"

#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_join.h"
#include "config/values/change_kind.h"
#include "config/words/fact_text.h"
#include "config/words/message.h"
#include "config/words/subject_text.h"

namespace clusterd {

HostAllows AllowsOnly(const std::set<ChangeKind>& kinds) {
  HostAllows allows;
  for (const ChangeKind kind : AllChangeKinds()) {
    if (kinds.count(kind) > 0) allows.add_kinds(ChangeKindName(kind));
  }
  return allows;
}

HostAllows ReadAllows(const YamlMap& agent, Mistakes* mistakes) {
  const YamlValue allow = agent["allow"];
  const YamlNode* const list = allow.node();
  if (list == nullptr) return AllowsOnly({CHANGE_OBSERVE});
  const auto names = Each<std::string>(AllChangeKinds(), ChangeKindName);
  const std::vector<absl::string_view> words(names.begin(), names.end());
  if (list->kind != YamlNode::Kind::kList) {
    allow.WrongKind("spec-list-of-words", absl::StrJoin(names, ", "));
  }
  // The file lists all allowed kinds; every other kind is refused.
  std::set<ChangeKind> allowed;
  for (const YamlNode& item : list->items) {
    const auto word = YamlValue(&item, "allow", mistakes).Word(words);
    if (word) allowed.insert(*ParseChangeKind(*word));
  }
  return AllowsOnly(allowed);
}

absl::Status CheckAllowed(const HostPlan& plan, const HostAllows& allows) {
  std::set<ChangeKind> needed = AllowedKinds(allows);
  std::map<ChangeKind, std::vector<uint32_t>> refused;
  for (const PlanStep& step : plan.steps()) {
    if (needed.count(step.kind()) > 0) continue;
    refused[step.kind()].push_back(step.id());
  }
  if (refused.empty()) return absl::OkStatus();
  std::vector<FindingValue> kinds;
  for (const auto& [kind, steps] : refused) {
    needed.insert(kind);
    kinds.push_back(Worded("plan-say-kind-of-steps", ChangeKindName(kind),
                           absl::StrJoin(steps, ",")));
  }
  return DeniedWords("msg-step-not-allowed", Listed(kinds, kinds.size()),
                     WhatIsAllowed(allows), HowToAllow(allows, needed));
}

}  // namespace clusterd
