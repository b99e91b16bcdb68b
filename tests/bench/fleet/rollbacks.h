// An operator's rollback on two hosts, alone and beside a viewer at full load
// (tests/component/viewer/busy_viewer.h), in turn.
#ifndef TESTS_BENCH_FLEET_ROLLBACKS_H_
#define TESTS_BENCH_FLEET_ROLLBACKS_H_

#include <string>

#include "tests/bench/fleet/cluster.h"

namespace clusterd {

// Measures `count` rollbacks of each kind in a cluster of `servers`, and prints
// the medians. Returns the exit status: 0, 1 over the budget, 2 not measured.
int MeasureRollbacks(const ClusterPrograms& programs,
                     const std::string& product, int servers, int count);

}  // namespace clusterd

#endif  // TESTS_BENCH_FLEET_ROLLBACKS_H_
