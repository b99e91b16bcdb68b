// /etc/hccn.conf, from which the driver sets every device at boot:
//   address_3=192.168.103.101
//   netmask_3=255.255.255.0
// hccn_tool edits it in place under flock; so must every fix.
#ifndef CONFIG_RULES_HCCN_CONF_RULES_H_
#define CONFIG_RULES_HCCN_CONF_RULES_H_

#include "absl/strings/string_view.h"
#include "config/rules/cluster_view.h"
#include "config/rules/rule_report.h"

namespace clusterd {

// A file that is not there or is no text file fails; one that may not be read
// is unknown. A line that the tool would ignore is a warning.
void CheckHccnConf(const ClusterView& view, RuleReport& report);

// The line's value once the file is repaired as hccn-conf says: of a file of
// CR LF lines without the CR.
// REQUIRES: hccn.conf of the host is known and has the entry.
absl::string_view RepairedValue(const HostView& host,
                                const HccnConf::Entry& entry);

// Live addresses against the file. Without the file this is unknown, caused by
// hccn-conf; so is a difference that the repair of the file ends.
void CheckDeviceIpPersistent(const ClusterView& view, RuleReport& report);

// Live gateways and detect addresses against the file, planned or not:
// | live     | in the file          | state                                   |
// |----------|----------------------|-----------------------------------------|
// | G        | G                    | pass                                    |
// | none     | none, or 0.0.0.0     | pass                                    |
// | G        | none, or another     | warn: lost, or replaced, at boot        |
// | none     | G                    | warn: the next boot sets it             |
// | any two that differ, Ascend 950 | unknown: what its recovery takes from   |
// |                                 | the file is not published               |
// A gateway of a device with udhcpc_enable_N is skipped: the recovery at boot
// does not take it from the file (hccn_tool source, hicann/driver ef377e95).
void CheckGatewayPersistent(const ClusterView& view, RuleReport& report);
void CheckDetectAddressPersistent(const ClusterView& view, RuleReport& report);

}  // namespace clusterd

#endif  // CONFIG_RULES_HCCN_CONF_RULES_H_
