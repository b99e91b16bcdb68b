#include "config/rules/error_codes.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "config/words/words.h"

namespace clusterd {
namespace {

bool NamesCode(const Rule& rule, absl::string_view code) {
  const RuleText& words = rule.english;
  std::string text = absl::StrCat(words.title, "\n", words.fails_when, "\n",
                                  words.why, "\n", words.fix);
  for (const RuleFinding& finding : rule.findings) {
    absl::StrAppend(&text, "\n", finding.english.why, "\n",
                    finding.english.fix);
  }
  return absl::StrContains(text, code);
}

}  // namespace

std::string ErrorCodeMeaning(absl::string_view code) {
  const FindingValue meaning = Term(absl::StrCat("code-", code));
  return meaning.words().empty() ? "" : ValueText(meaning);
}

std::vector<const Rule*> RulesOfErrorCode(absl::string_view code) {
  std::vector<const Rule*> rules;
  for (const Rule& rule : RuleCatalogue()) {
    if (rule.name == code || NamesCode(rule, code)) rules.push_back(&rule);
  }
  return rules;
}

}  // namespace clusterd
