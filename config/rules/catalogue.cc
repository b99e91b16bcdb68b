#include "config/rules/catalogue.h"

#include <set>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_split.h"
#include "config/plan/settings.h"
#include "config/values/change_kind.h"
#include "config/words/message.h"
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
  return FirstWith(kRules, &Rule::name, name);
}

std::vector<absl::string_view> RuleNames() {
  return Each<absl::string_view>(kRules, &Rule::name);
}

namespace {

std::vector<std::string> FixesOf(const Rule& rule) {
  return absl::StrSplit(rule.fixed_by, '/', absl::SkipEmpty());
}

}  // namespace

std::vector<std::string> StepWords() {
  std::set<std::string> words;
  for (const Rule& rule : RuleCatalogue()) {
    for (const std::string& name : FixesOf(rule)) {
      // A kernel parameter has no row.
      const Setting* const row = FindSetting(ParseSettingName(name));
      words.insert({ChangeKindName(row == nullptr ? CHANGE_SYSCTL : row->kind),
                    std::string(rule.name)});
    }
  }
  return {words.begin(), words.end()};
}

absl::StatusOr<PlanSelection> SelectSteps(std::vector<std::string> words) {
  const std::vector<std::string> known = StepWords();
  PlanSelection selection;
  std::vector<FindingValue> mistakes;
  for (const std::string& word : words) {
    if (!absl::c_linear_search(known, word)) {
      mistakes.push_back(
          Worded("msg-plan-only", word,
                 DidYouMeanWords(word, std::vector<absl::string_view>(
                                           known.begin(), known.end()))));
    } else if (const auto kind = ParseChangeKind(word)) {
      selection.kinds.insert(*kind);
    } else {
      for (std::string& name : FixesOf(*FindRule(word))) {
        const SettingId id = ParseSettingName(name);
        if (id == SETTING_UNSPECIFIED) {
          selection.kernel_parameters.insert(std::move(name));
        } else {
          selection.settings.insert(id);
        }
      }
    }
  }
  if (!mistakes.empty()) {
    return WithWords(absl::InvalidArgumentError(""), Lines(mistakes));
  }
  selection.words = std::move(words);
  return selection;
}

}  // namespace clusterd
