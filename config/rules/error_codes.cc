#include "config/rules/error_codes.h"

#include "absl/strings/str_split.h"
#include "config/codes/error_code.h"
#include "config/words/words.h"

namespace clusterd {

std::string ErrorCodeMeaning(absl::string_view code) {
  const ErrorCode* const row = FindErrorCode(code);
  if (row == nullptr) return "";
  return row->is_title ? Say("code-title", row->name, row->text().meaning)
                       : std::string(row->text().meaning);
}

std::string ErrorCodeFix(absl::string_view code) {
  const ErrorCode* const row = FindErrorCode(code);
  return row == nullptr ? "" : std::string(row->text().fix);
}

std::vector<const Rule*> RulesOfErrorCode(absl::string_view code) {
  const ErrorCode* const row = FindErrorCode(code);
  std::vector<const Rule*> rules;
  for (const absl::string_view name : absl::StrSplit(
           row == nullptr ? code : row->rules, '/', absl::SkipEmpty())) {
    const Rule* const rule = FindRule(name);
    if (rule != nullptr) rules.push_back(rule);
  }
  return rules;
}

}  // namespace clusterd
