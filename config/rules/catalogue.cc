#include "config/rules/catalogue.h"

#include "config/values/nearest_word.h"
#include "config/words/subject_text.h"

namespace clusterd {

#include "config/rules/texts/rule_table.inc"

bool Rule::JudgesOneHost() const {
  return scope == RuleScope::kNamespace || scope == RuleScope::kHost ||
         scope == RuleScope::kDevice ||
         (scope == RuleScope::kSpec && (needs_job || holds_alone));
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
  return Each<absl::string_view>(kRules, &Rule::name);
}

std::string NearestRule(absl::string_view name) {
  return NearestWord(name, RuleNames());
}

}  // namespace clusterd
