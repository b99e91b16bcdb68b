// The fewest subnets that hold exactly these addresses and no other, for
// firewall rules: 1,152 hosts in a row need a handful of rules, not 1,152.
#ifndef CONFIG_PLAN_ADDRESS_BLOCKS_H_
#define CONFIG_PLAN_ADDRESS_BLOCKS_H_

#include <vector>

#include "config/spec/ipv4.h"

namespace clusterd {

// Sorted. Repeated addresses count once.
std::vector<Ipv4Subnet> CoverExactly(std::vector<Ipv4Address> addresses);

}  // namespace clusterd

#endif  // CONFIG_PLAN_ADDRESS_BLOCKS_H_
