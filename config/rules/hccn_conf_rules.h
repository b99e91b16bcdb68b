// /etc/hccn.conf, from which the driver sets every device at boot:
//   address_3=192.168.103.101
//   netmask_3=255.255.255.0
// hccn_tool edits it in place under flock; so must every fix.
#ifndef CONFIG_RULES_HCCN_CONF_RULES_H_
#define CONFIG_RULES_HCCN_CONF_RULES_H_

#include "config/rules/cluster_view.h"
#include "config/rules/rule_report.h"

namespace clusterd {

// A file that is not there or is no text file fails; one that may not be read
// is unknown. A line that the tool would ignore is a warning.
void CheckHccnConf(const ClusterView& view, RuleReport& report);

// Live addresses against the file. Without the file this is unknown, caused by
// hccn-conf.
void CheckDeviceIpPersistent(const ClusterView& view, RuleReport& report);

}  // namespace clusterd

#endif  // CONFIG_RULES_HCCN_CONF_RULES_H_
