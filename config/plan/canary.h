// Which hosts an apply asks first: few that together have a step of every kind
// in the plan, so that the first wave tries all that later waves do.
//   node01 sysctl | node02 tls | node03 sysctl, tls      canary 1: node03
//   node01 sysctl | node02 tls                           canary 1: both
#ifndef CONFIG_PLAN_CANARY_H_
#define CONFIG_PLAN_CANARY_H_

#include <cstddef>
#include <set>
#include <string>
#include <vector>

#include "proto/plan.pb.h"

namespace clusterd {

struct Canary {
  size_t size = 0;              // Hosts of the first wave; 0: there is none.
  std::set<std::string> hosts;  // They go before all others.
  std::string why;              // Which hosts, and why them; for people.
};

// The fewest hosts with a step of every kind, the first ones of equals, and
// then the first ones of the plan until they are `wished` many. More than
// wished where fewer do not do, as far as `wave_size` hosts may be asked at
// once; beyond that the next waves begin with them. `wished` 0: no canary.
Canary ChooseCanary(const ClusterPlan& plan, size_t wished, size_t wave_size);

// Hosts with steps in the order in which they are asked.
std::vector<std::string> AskedInOrder(const ClusterPlan& plan,
                                      const Canary& canary);

}  // namespace clusterd

#endif  // CONFIG_PLAN_CANARY_H_
