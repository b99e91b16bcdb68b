#include "config/rules/catalogue.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "config/plan/settings.h"
#include "config/values/change_kind.h"
#include "config/words/message.h"
#include "config/words/subject_text.h"

namespace clusterd {

#include "config/rules/texts/rule_table.inc"

namespace {

std::vector<std::string> FixesOf(const Rule& rule) {
  return absl::StrSplit(rule.fixed_by, '/', absl::SkipEmpty());
}

}  // namespace

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

std::string ErrorCodeMeaning(absl::string_view code) {
  const FindingValue meaning = Term(absl::StrCat("code-", code));
  return meaning.words().empty() ? "" : ValueText(meaning);
}

std::vector<const Rule*> RulesOfErrorCode(absl::string_view code) {
  std::vector<const Rule*> rules;
  for (const Rule& rule : RuleCatalogue()) {
    const std::vector<absl::string_view> codes =
        absl::StrSplit(rule.codes, '/', absl::SkipEmpty());
    if (rule.name == code || absl::c_linear_search(codes, code)) {
      rules.push_back(&rule);
    }
  }
  return rules;
}

bool IsExplained(const Rule& rule, absl::string_view cause) {
  return absl::c_any_of(rule.findings, [&](const RuleFinding& finding) {
    if (cause.empty()) return !finding.explained_by.empty();
    const std::vector<absl::string_view> causes =
        absl::StrSplit(finding.explained_by, '/');
    return absl::c_linear_search(causes, cause);
  });
}

int CausesBefore(const Rule& rule) {
  int before = 0;
  for (const Rule& other : RuleCatalogue()) {
    if (IsExplained(rule, other.name)) {
      before = std::max(before, 1 + CausesBefore(other));
    }
  }
  return before;
}

Causes::Causes() {
  for (const Rule& rule : RuleCatalogue()) rules_[rule.name];
}

void Causes::Note(absl::string_view rule, absl::Span<const Place> places,
                  State state) {
  if (state == SKIPPED) return;
  Worst& worst = rules_.at(rule);
  for (const Place& place : places) {
    State& of_place = worst[KeyOf(place)];
    of_place = std::max(of_place, state);
    State& of_host = worst[KeyOf({place.host_order}) | kAnyDevice];
    of_host = std::max(of_host, state);
  }
}

bool Causes::HasAt(absl::string_view rule, const Place& place) const {
  const Worst& worst = rules_.at(rule);
  const uint64_t host = KeyOf({place.host_order});
  if (!place.device.has_value()) return worst.contains(host | kAnyDevice);
  return worst.contains(host) || worst.contains(KeyOf(place));
}

bool Causes::HasOneOf(absl::string_view rule, absl::Span<const Place> places,
                      State at_least) const {
  const Worst& worst = rules_.at(rule);
  return absl::c_any_of(places, [&](const Place& place) {
    const auto found = worst.find(KeyOf(place));
    return found != worst.end() && found->second >= at_least;
  });
}

std::string Causes::Explaining(absl::string_view rule,
                               absl::string_view explained_by,
                               absl::Span<const Place> places, State state,
                               const Causes* as_planned) const {
  for (const absl::string_view cause :
       absl::StrSplit(explained_by, '/', absl::SkipEmpty())) {
    if (!HasOneOf(cause, places, state)) continue;
    if (cause == kPlannedAddressRule &&
        (as_planned == nullptr || as_planned->HasOneOf(rule, places, WARN))) {
      continue;
    }
    return std::string(cause);
  }
  return "";
}

}  // namespace clusterd
