#include "config/rules/error_codes.h"

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "config/words/words.h"

namespace clusterd {

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

}  // namespace clusterd
