#include "config/rules/catalogue.h"

#include <optional>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "config/plan/settings.h"
#include "config/values/change_kind.h"
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

namespace {

std::vector<std::string> MendersOf(const Rule& rule) {
  return absl::StrSplit(rule.mended_by, '/', absl::SkipEmpty());
}

bool HasSteps(ChangeKind kind) {
  const auto is_of_kind = [kind](const char* setting) {
    return FindSetting(setting)->kind == kind;
  };
  return absl::c_any_of(kDeviceSettingNames, is_of_kind) ||
         absl::c_any_of(kHostSettingNames, is_of_kind);
}

}  // namespace

absl::StatusOr<PlanSelection> SelectSteps(
    const std::vector<std::string>& words) {
  PlanSelection selection;
  std::vector<std::string> mistakes;
  for (const std::string& word : words) {
    const std::optional<ChangeKind> kind = ParseChangeKind(word);
    const Rule* const rule = FindRule(word);
    if (kind && HasSteps(*kind)) {
      selection.kinds.insert(*kind);
    } else if (rule != nullptr && !rule->mended_by.empty()) {
      const std::vector<std::string> settings = MendersOf(*rule);
      selection.settings.insert(settings.begin(), settings.end());
    } else if (kind || rule != nullptr) {
      mistakes.push_back(absl::StrCat(
          "only: no step of a plan ",
          kind ? "is of the kind \"" : "mends the rule \"", word,
          "\", expected a kind that clusterctl plan shows, or a rule that a "
          "step mends"));
    } else {
      const std::vector<std::string> known = StepWords();
      mistakes.push_back(absl::StrCat(
          "only: \"", word, "\" is not a kind of change or a rule, expected ",
          "names such as sysctl, firewall or gateway",
          DidYouMean(word, std::vector<absl::string_view>(known.begin(),
                                                          known.end()))));
    }
    if (!absl::c_linear_search(selection.words, word)) {
      selection.words.push_back(word);
    }
  }
  if (mistakes.empty()) return selection;
  return absl::InvalidArgumentError(absl::StrJoin(mistakes, "\n"));
}

std::vector<std::string> StepWords() {
  std::vector<std::string> words;
  for (const ChangeKind kind : AllChangeKinds()) {
    if (HasSteps(kind)) words.push_back(ChangeKindName(kind));
  }
  for (const Rule& rule : RuleCatalogue()) {
    const std::string name(rule.name);
    if (!rule.mended_by.empty() && !absl::c_linear_search(words, name)) {
      words.push_back(name);
    }
  }
  return words;
}

bool IsAbout(const PlanSelection& selection, const Rule& rule) {
  if (absl::c_linear_search(selection.words, rule.name)) return true;
  const std::vector<std::string> menders = MendersOf(rule);
  return !menders.empty() &&
         absl::c_all_of(menders, [&selection](const std::string& name) {
           const Setting* const row = FindSetting(name);
           return selection.settings.count(name) > 0 ||
                  selection.kinds.count(row == nullptr ? CHANGE_SYSCTL
                                                       : row->kind) > 0;
         });
}

}  // namespace clusterd
