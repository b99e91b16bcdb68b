// The cluster as a whole: how many servers, and who answered.
#ifndef CONFIG_RULES_CLUSTER_RULES_H_
#define CONFIG_RULES_CLUSTER_RULES_H_

#include "config/rules/cluster_view.h"
#include "config/rules/rule_report.h"

namespace clusterd {

// Both judge the spec's servers, whatever hosts are asked.
void CheckClusterSize(const ClusterView& view, RuleReport& report);
void CheckClusterSizePower(const ClusterView& view, RuleReport& report);

// The one unknown that a silent host costs; and the failure of a name under
// which two machines came.
void CheckHostIdentity(const ClusterView& view, RuleReport& report);

}  // namespace clusterd

#endif  // CONFIG_RULES_CLUSTER_RULES_H_
