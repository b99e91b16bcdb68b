// Addresses that must differ: as a whole, and in their last 8 bits.
#ifndef CONFIG_RULES_UNIQUE_RULES_H_
#define CONFIG_RULES_UNIQUE_RULES_H_

#include "config/rules/cluster_view.h"
#include "config/rules/rule_report.h"

namespace clusterd {

// Among live device addresses, live gateways and the host addresses of the
// spec (also of hosts that did not answer). Devices that share a gateway are no
// conflict; a gateway that is a device's or a host's address is.
void CheckIpUnique(const ClusterView& view, RuleReport& report);

// Fails where the profile asks for different host parts, else warns; a subnet
// with more addresses than 8 bits can tell apart (254) is one warning, since no
// plan of one subnet could do better.
void CheckIpHostPart(const ClusterView& view, RuleReport& report);

}  // namespace clusterd

#endif  // CONFIG_RULES_UNIQUE_RULES_H_
