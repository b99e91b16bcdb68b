#include "config/rules/catalogue.h"

#include "config/values/nearest_word.h"

namespace clusterd {

#include "config/rules/texts/rule_table.inc"

bool Rule::JudgesOneHost() const {
  return scope == RuleScope::kNamespace || scope == RuleScope::kHost ||
         scope == RuleScope::kDevice ||
         (scope == RuleScope::kSpec && needs_job);
}

bool Rule::JudgesNamespaces() const {
  return scope == RuleScope::kNamespace || scope == RuleScope::kAnswers;
}

absl::Span<const Rule> RuleCatalogue() { return kRules; }

absl::Span<const RuleFinding> SharedFindings() { return kSharedFindings; }

const Rule* FindRule(absl::string_view name) {
  for (const Rule& rule : kRules) {
    if (rule.name == name) return &rule;
  }
  return nullptr;
}

std::vector<absl::string_view> RuleNames() {
  std::vector<absl::string_view> names;
  for (const Rule& rule : kRules) names.push_back(rule.name);
  return names;
}

std::string NearestRule(absl::string_view name) {
  return NearestWord(name, RuleNames());
}

}  // namespace clusterd
