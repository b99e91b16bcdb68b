// The error codes of jobs, and the rules about them.
#ifndef CONFIG_RULES_ERROR_CODES_H_
#define CONFIG_RULES_ERROR_CODES_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "config/rules/catalogue.h"

namespace clusterd {

// The meaning of HCCL's code, "EI0006", in one sentence; the same for the name
// of a rule that logs lead to. Empty: not known. The rows are those of
// config/words/texts/codes.textproto; releases have renumbered some codes.
std::string ErrorCodeMeaning(absl::string_view code);

// The rules whose failure leads to the code, as their rows say, and the rule of
// that name; in the catalogue's order.
std::vector<const Rule*> RulesOfErrorCode(absl::string_view code);

}  // namespace clusterd

#endif  // CONFIG_RULES_ERROR_CODES_H_
