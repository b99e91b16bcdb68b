// Observations about the whole cluster: which hosts have which version or
// setting, and which devices are cabled to which switch. Pure; judges nothing.
#ifndef CONFIG_RULES_SEEN_SEEN_H_
#define CONFIG_RULES_SEEN_SEEN_H_

#include "config/rules/view/cluster_view.h"
#include "proto/finding.pb.h"

namespace clusterd {

// Report.value_groups: all values of versions, and differing ones of other
// facts that were asked for. Values are printable. Bounded for any hosts: a
// fact has 12 groups, of which the first holds the rarest (other_values); a
// list of many hosts has the first, and "and 17 more hosts".
google::protobuf::RepeatedPtrField<ValueGroups> SeenValues(
    const ClusterView& view);

// Report.switches, by name; bounded likewise: 2,048 entries of ports, then one
// for the rest (more_switches). One without either is for devices whose switch
// is not known.
google::protobuf::RepeatedPtrField<SwitchPorts> SeenSwitches(
    const ClusterView& view);

}  // namespace clusterd

#endif  // CONFIG_RULES_SEEN_SEEN_H_
