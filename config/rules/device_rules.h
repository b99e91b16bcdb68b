// The devices of each host and their ports: is the tool there, are the devices,
// do link, health probe and LLDP say that a switch answers.
#ifndef CONFIG_RULES_DEVICE_RULES_H_
#define CONFIG_RULES_DEVICE_RULES_H_

#include "config/rules/cluster_view.h"
#include "config/rules/rule_report.h"

namespace clusterd {

// Unknown, never fail: what the tool would have told is not known.
void CheckHccnTool(const ClusterView& view, RuleReport& report);

// Against the spec's devices of the host, or the product's ids where it lists
// none. Skipped if neither says anything.
void CheckDeviceCount(const ClusterView& view, RuleReport& report);

void CheckLink(const ClusterView& view, RuleReport& report);

// Success passes; everything else fails with its own explanation, but for
// "Detect ip set": that is a result still to come, so it is unknown.
void CheckNetHealth(const ClusterView& view, RuleReport& report);

// | link     | neighbour heard | not heard | not known |
// |----------|-----------------|-----------|-----------|
// | up       | pass            | fail      | unknown   |
// | down     | pass            | skipped   | skipped   |
// | unknown  | pass            | unknown   | unknown   |
void CheckLldp(const ClusterView& view, RuleReport& report);

}  // namespace clusterd

#endif  // CONFIG_RULES_DEVICE_RULES_H_
