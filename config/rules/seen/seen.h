// What was seen, for whoever looks at the whole cluster: which hosts have which
// version or setting, and which devices are cabled to which switch. Pure;
// judges nothing.
#ifndef CONFIG_RULES_SEEN_SEEN_H_
#define CONFIG_RULES_SEEN_SEEN_H_

#include "config/rules/view/cluster_view.h"
#include "proto/finding.pb.h"

namespace clusterd {

// Adds value_groups and switches to the report: of versions all values, of
// other facts those that differ, of none that was not asked for. Values are
// printable. Bounded, whatever hosts say: a fact has 12 groups, of which the
// first, "17 other values", holds the rarest; the switches have 2,048 entries
// of ports, and one named "" is for devices whose switch is not known. Of many
// hosts in a list the first, and "and 17 more hosts".
void AddSeen(const ClusterView& view, Report* report);

}  // namespace clusterd

#endif  // CONFIG_RULES_SEEN_SEEN_H_
