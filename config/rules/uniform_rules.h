// What must be the same everywhere: netmask of a subnet, TLS switch, MTU,
// versions. What most have is taken as right unless the spec says it.
#ifndef CONFIG_RULES_UNIFORM_RULES_H_
#define CONFIG_RULES_UNIFORM_RULES_H_

#include "config/rules/cluster_view.h"
#include "config/rules/rule_report.h"

namespace clusterd {

// Devices whose subnets overlap are of one subnet and must agree.
void CheckNetmaskUniform(const ClusterView& view, RuleReport& report);

// Every device of the cluster; spec.tls decides where it is set.
void CheckTlsUniform(const ClusterView& view, RuleReport& report);

// Device i of all hosts; spec.mtu decides where it is set. Warns.
void CheckMtuUniform(const ClusterView& view, RuleReport& report);

// Driver, firmware, CANN warn, the NPU series fails. The smallest group comes
// first. Versions of a single host have nothing to agree with.
// A host without CANN has the version "not installed". Where clusterd does not
// ask for CANN at all (NOT_QUERIED), the summary says that it was not compared:
// it is a part of the rule and may not hide the rest behind an eternal unknown.
void CheckVersionUniform(const ClusterView& view, RuleReport& report);

}  // namespace clusterd

#endif  // CONFIG_RULES_UNIFORM_RULES_H_
