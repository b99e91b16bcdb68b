#include "daemon/agent/apply/veto.h"

#include <map>
#include <optional>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "config/spec/yaml_document.h"
#include "config/values/change_kind.h"

namespace clusterd {

Veto Veto::Read(const YamlMap& agent, Mistakes* mistakes) {
  const YamlNode* const list = agent["allow"].node();
  if (list == nullptr) return Veto();
  std::vector<std::string> names;
  for (const ChangeKind kind : AllChangeKinds()) {
    names.push_back(ChangeKindName(kind));
  }
  const std::vector<absl::string_view> words(names.begin(), names.end());
  if (list->kind != YamlNode::Kind::kList) {
    mistakes->Add(list->position, absl::StrCat("allow: ", KindName(list->kind),
                                               ", expected a list of ",
                                               absl::StrJoin(names, ", ")));
  }
  // Naming what is allowed leaves out all that is not named.
  std::set<ChangeKind> allowed;
  for (const YamlNode& item : list->items) {
    const auto word = YamlValue(&item, "allow", mistakes).Word(words);
    if (word) allowed.insert(*ParseChangeKind(*word));
  }
  return Veto(std::move(allowed));
}

HostAllows Veto::ToHostAllows() const {
  HostAllows allows;
  allows.set_file(file_);
  allows.set_mistake(mistake_);
  for (const ChangeKind kind : AllChangeKinds()) {
    if (Allows(kind)) allows.add_kinds(ChangeKindName(kind));
  }
  return allows;
}

absl::Status Veto::Check(const HostPlan& plan) const {
  std::map<ChangeKind, std::vector<uint32_t>> refused;
  for (const PlanStep& step : plan.steps()) {
    if (!Allows(step.kind())) refused[step.kind()].push_back(step.id());
  }
  if (refused.empty()) return absl::OkStatus();
  std::vector<std::string> kinds;
  std::set<ChangeKind> needed = allowed_;
  for (const auto& [kind, steps] : refused) {
    needed.insert(kind);
    kinds.push_back(absl::StrCat(ChangeKindName(kind), " (step ",
                                 absl::StrJoin(steps, ","), ")"));
  }
  const HostAllows allows = ToHostAllows();
  return absl::PermissionDeniedError(
      absl::StrCat(plan.host(), ": this host does not allow ",
                   absl::StrJoin(kinds, ", "), "; ", WhatIsAllowed(allows),
                   "; ", HowToAllow(allows, needed), ", then ask again"));
}

}  // namespace clusterd
