// The error codes of jobs, and the rules about them.
#ifndef CONFIG_RULES_ERROR_CODES_H_
#define CONFIG_RULES_ERROR_CODES_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "config/rules/catalogue.h"

namespace clusterd {

// The meaning of a code of config/codes in one sentence, and what to do. For an
// entry that only the vendor's catalogue explains, its title there and nothing.
// Empty: not known. Releases have renumbered some codes of HCCL.
std::string ErrorCodeMeaning(absl::string_view code);
std::string ErrorCodeFix(absl::string_view code);

// The rules whose failure leads to the code, and the rule of that name; in the
// catalogue's order.
std::vector<const Rule*> RulesOfErrorCode(absl::string_view code);

}  // namespace clusterd

#endif  // CONFIG_RULES_ERROR_CODES_H_
