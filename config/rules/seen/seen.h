// Observations about the whole cluster: which hosts have which version or
// setting, and which devices are cabled to which switch. Pure; judges nothing.
#ifndef CONFIG_RULES_SEEN_SEEN_H_
#define CONFIG_RULES_SEEN_SEEN_H_

#include "config/rules/view/cluster_view.h"
#include "proto/finding.pb.h"

namespace clusterd {

// Report.value_groups: of versions all values, of other facts those that
// differ, of none that was not asked for. Values are printable. Bounded,
// whatever hosts say: a fact has 12 groups, of which the first, "17 other
// values", holds the rarest; of many hosts in a list the first, and "and 17
// more hosts".
google::protobuf::RepeatedPtrField<ValueGroups> SeenValues(
    const ClusterView& view);

// Report.switches, by name; bounded likewise: 2,048 entries of ports, then one
// "17 more switches". One named "" is for devices whose switch is not known.
google::protobuf::RepeatedPtrField<SwitchPorts> SeenSwitches(
    const ClusterView& view);

}  // namespace clusterd

#endif  // CONFIG_RULES_SEEN_SEEN_H_
