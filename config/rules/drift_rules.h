// Whether hosts are still as applies left them. The facts say what drifted
// (config/plan/applied_drift.h); the rule says what that means.
#ifndef CONFIG_RULES_DRIFT_RULES_H_
#define CONFIG_RULES_DRIFT_RULES_H_

#include "config/rules/cluster_view.h"
#include "config/rules/rule_report.h"

namespace clusterd {

// Warns for every step that does not hold any more; the value itself fails
// through its own rule where the spec wants it. What a host cannot tell is
// unknown. Passes only if every host keeps a record of its applies; a host
// without one is skipped.
void CheckDrift(const ClusterView& view, RuleReport& report);

}  // namespace clusterd

#endif  // CONFIG_RULES_DRIFT_RULES_H_
