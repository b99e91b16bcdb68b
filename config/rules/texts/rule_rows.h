// The rows of all rules from files, and the build's outputs: a table in C++ and
// a page for people. rule_row.proto says what a row is.
#ifndef CONFIG_RULES_TEXTS_RULE_ROWS_H_
#define CONFIG_RULES_TEXTS_RULE_ROWS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "config/rules/texts/rule_row.pb.h"

namespace clusterd {

// A file by its path; "…/host.textproto" has the rules of category "host".
struct RowFile {
  std::string path;
  std::string text;
};

// The content of one file, with the words of phrases in its texts, and $0, $1,
// … for the values of a finding.
struct RuleCategory {
  std::string name;
  RuleRows rows;
};

// Keeps the order of the files and of the rules in them. InvalidArgument,
// naming the file, for a text that is not RuleRows, for a phrase without an
// earlier row or use, for a value that a finding does not name. The same for an
// alone_why, or a cause of a message, that is missing or unused. A code gets the
// rules that name it.
absl::StatusOr<std::vector<RuleCategory>> ReadRuleRows(
    absl::Span<const RowFile> files);

// `constexpr WordRow kWordRows[]`; see config/words/words.cc.
std::string WordTable(absl::Span<const RuleCategory> categories);

// `constexpr ErrorCode kErrorCodes[]`; see config/codes/error_code.h.
std::string CodeTable(absl::Span<const RuleCategory> categories);

// The declaration of every rule's function, the findings of every rule that has
// some, kSharedFindings and `constexpr Rule kRules[]`; see catalogue.h. A rule
// without its function does not link.
std::string RuleTable(absl::Span<const RuleCategory> categories);

// config/words/README.md below message_head.md: every message by its file.
std::string MessagePage(absl::Span<const RuleCategory> categories);

// config/codes/README.md below codes_head.md.
std::string CodePage(absl::Span<const RuleCategory> categories);

// config/rules/README.md below page_head.md.
std::string RulePage(absl::Span<const RuleCategory> categories);

}  // namespace clusterd

#endif  // CONFIG_RULES_TEXTS_RULE_ROWS_H_
