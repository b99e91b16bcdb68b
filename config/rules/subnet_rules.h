// How device addresses spread over subnets, as the product's profile demands.
// Subnets are those of the live addresses, from address and netmask both.
#ifndef CONFIG_RULES_SUBNET_RULES_H_
#define CONFIG_RULES_SUBNET_RULES_H_

#include "config/rules/cluster_view.h"
#include "config/rules/rule_report.h"

namespace clusterd {

// Devices i and i+4 of one host; profile kPairs only.
void CheckSubnetPairs(const ClusterView& view, RuleReport& report);

// Devices 0-3, and 4-7, of one host: equal or overlapping subnets fail; profile
// kPairs only.
void CheckSubnetDistinct(const ClusterView& view, RuleReport& report);

// Device i of all hosts; profile kPairs only. The subnet of most hosts is taken
// as right, of equals the planned one. Skipped with fewer than two hosts.
void CheckSubnetAcrossHosts(const ClusterView& view, RuleReport& report);

// All devices of the cluster; profile kShared only. With several subnets, those
// outside the most common one need a gateway inside their own; if all of them
// have one, so do the others, for the way back.
void CheckSubnetShared(const ClusterView& view, RuleReport& report);

}  // namespace clusterd

#endif  // CONFIG_RULES_SUBNET_RULES_H_
