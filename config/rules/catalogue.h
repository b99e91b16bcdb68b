// Every rule by name: what it is, why it matters, how to fix it, where it comes
// from. The text behind `clusterctl explain` and the headings of a report.
#ifndef CONFIG_RULES_CATALOGUE_H_
#define CONFIG_RULES_CATALOGUE_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace clusterd {

struct RuleInfo {
  std::string name;      // A contract with users: never renamed.
  std::string category;  // "host", "device", "address" or "cluster".
  std::string title;     // One line: what holds when it passes.
  std::string fails_when;
  std::string why;     // What training does when it is broken.
  std::string fix;     // How to repair it.
  std::string level;   // "fail", "warn", or when which.
  std::string source;  // Seed document or section of the facts.
  // Whether one host alone can be judged by it.
  bool one_host = false;
};

// In the order in which reports list them.
const std::vector<RuleInfo>& RuleCatalogue();

// nullptr if there is none.
const RuleInfo* FindRule(absl::string_view name);

// The rule whose name is nearest to a mistyped one; empty if none is near.
std::string NearestRule(absl::string_view name);

}  // namespace clusterd

#endif  // CONFIG_RULES_CATALOGUE_H_
