// Whether a firewall of the host stands between the servers of the cluster.
#ifndef CONFIG_RULES_FIREWALL_RULES_H_
#define CONFIG_RULES_FIREWALL_RULES_H_

#include "config/rules/cluster_view.h"
#include "config/rules/rule_report.h"

namespace clusterd {

// | policy      | active              | stopped, starts at boot        |
// |-------------|---------------------|--------------------------------|
// | disabled    | fail                | warn                           |
// | open-ports  | fail unless it lets | the same as a warning; warn    |
// |             | in every needed TCP | too if a stopped firewall does |
// |             | port from every     | not tell what it would let in  |
// |             | host of the spec    |                                |
// | ignore      | skipped             | skipped                        |
// A spec without a policy means disabled. One that is stopped and does not
// start at boot passes: nothing is in the way.
//
// firewalld stores rules apart from those that run. With open-ports, active:
// | needed ports are let in   | state                                        |
// |---------------------------|----------------------------------------------|
// | now and permanently       | pass                                         |
// | now alone                 | warn: the next reload or reboot shuts them   |
// | permanently alone         | fail: a reload opens them                    |
// | now, permanently unknown  | unknown                                      |
void CheckFirewall(const ClusterView& view, RuleReport& report);

}  // namespace clusterd

#endif  // CONFIG_RULES_FIREWALL_RULES_H_
