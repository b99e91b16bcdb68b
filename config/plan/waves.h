// Waves of an apply or rollback: `size` hosts at once, in the order of the
// plan. A canary makes the first wave that small; each later wave is then twice
// as large, up to `size`.
//   9 hosts, canary 1, size 4:  host 0 | hosts 1, 2 | hosts 3 to 6 | 7, 8
// The canary has a step of every kind in the plan, so that the first wave tries
// everything that later waves do:
//   node01 sysctl | node02 tls | node03 sysctl, tls      canary 1: node03
//   node01 sysctl | node02 tls                           canary 1: both
#ifndef CONFIG_PLAN_WAVES_H_
#define CONFIG_PLAN_WAVES_H_

#include <algorithm>
#include <cstddef>
#include <set>
#include <string>
#include <vector>

#include "proto/plan.pb.h"

namespace clusterd {

class Waves {
 public:
  // `canary` 0: the first wave is like the others. A `size` of 0 is 1.
  Waves(size_t hosts, size_t canary, size_t size) {
    const size_t most = std::max<size_t>(1, size);
    size_t wave = canary > 0 ? canary : most;
    for (size_t begin = 0; begin < hosts;) {
      begins_.push_back(begin);
      begin += std::min(wave, hosts - begin);
      wave = std::min(most, wave > most / 2 ? most : 2 * wave);
    }
    begins_.push_back(hosts);
  }

  size_t count() const { return begins_.size() - 1; }
  // The first host of the wave, both from 0; after the last: the host count.
  size_t begin(size_t wave) const { return begins_[std::min(wave, count())]; }

 private:
  std::vector<size_t> begins_;
};

struct Canary {
  size_t size = 0;              // Hosts of the first wave; 0: none.
  std::set<std::string> hosts;  // They go first.
  FindingValue why;  // Names hosts, reasons and missing kinds, for people.
};

// Chooses the fewest hosts with a step of every kind, the first ones among
// equals, and adds further ones up to `wished` in plan order. It takes more if
// needed, but at most `wave_size`. The remaining hosts are in the next wave,
// and `why` warns of kinds that only they have. `wished` 0: no canary.
Canary ChooseCanary(const ClusterPlan& plan, size_t wished, size_t wave_size);

}  // namespace clusterd

#endif  // CONFIG_PLAN_WAVES_H_
