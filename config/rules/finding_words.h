// The words of findings, in a language: reports carry the names of findings and
// their values, and readers put them into words. texts/ has the rows and words.
#ifndef CONFIG_RULES_FINDING_WORDS_H_
#define CONFIG_RULES_FINDING_WORDS_H_

#include <string>

#include "absl/strings/string_view.h"
#include "config/rules/catalogue.h"
#include "config/words/terminal.h"
#include "config/words/words.h"
#include "proto/finding.pb.h"

namespace clusterd {

// The finding of that name among the shared ones and the rule's, otherwise the
// rule's one without a name; nullptr: there is none.
const RuleFinding* FindRuleFinding(const Rule& rule, absl::string_view name);

// "hccn_tool -i 3 …"; empty if `arguments` is.
std::string ToolCommand(uint32_t device, absl::string_view arguments);

// Writes into every finding, in the current language, observed, expected, why,
// fix and its parts, and command; into every rule with findings why and source,
// and skip_reason if a finding is the reason; into hosts why they have no
// facts; and the notes that are in `said`. Rules and findings unknown here, of
// a newer controller, are shown by their names.
void RenderReport(Report* report);

// The part of that for one rule, in a cluster of that product.
void RenderRule(absl::string_view product, RuleResult* result);

// Writes the texts of changes from their findings, in the current language.
void RenderDiff(absl::string_view product, ReportDiff* diff);

// Empties every text that RenderReport writes, so that it can be kept without.
void DropTexts(Report* report);

// The same report in the current language, from one in any, or without texts.
Report Rendered(Report report);

}  // namespace clusterd

#endif  // CONFIG_RULES_FINDING_WORDS_H_
