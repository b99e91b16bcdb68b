// The ports that a job needs on every host: reserved by the kernel, and free.
#ifndef CONFIG_RULES_PORT_RULES_H_
#define CONFIG_RULES_PORT_RULES_H_

#include "config/rules/cluster_view.h"
#include "config/rules/rule_report.h"

namespace clusterd {

void CheckPortsReserved(const ClusterView& view, RuleReport& report);
void CheckPortsFree(const ClusterView& view, RuleReport& report);

}  // namespace clusterd

#endif  // CONFIG_RULES_PORT_RULES_H_
