// What the controller tells Prometheus: verdicts, not device counters. One
// series for each host of the spec and none for any other name, so that no
// stranger can make one; all else is by rule, state or kind.
// `deploy/monitoring` uses each of them. Counters begin at zero with the
// controller. Pure.
#ifndef DAEMON_CONTROLLER_STATUS_CLUSTER_METRICS_H_
#define DAEMON_CONTROLLER_STATUS_CLUSTER_METRICS_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "config/values/histogram.h"
#include "proto/controller.pb.h"
#include "proto/finding.pb.h"

namespace clusterd {

struct ClusterNumbers {
  // As AttachedHosts::Entries has them.
  std::vector<HostEntry> hosts;
  // The newest check of the whole cluster; null: none yet.
  std::shared_ptr<const Report> newest;
  // Ended runs by outcome, as ClusterChanges::Ended.
  std::map<std::string, uint64_t> applies;
  Histogram attach_waits{{}};
  // Of the controller's own files: "controller", "ca", "issuing-ca".
  std::vector<std::pair<std::string, absl::Time>> certificate_ends;
  absl::Time now;
  // A host that renews its certificate with this controller is late with it
  // when so little is left.
  absl::Duration late_renewal;
};

std::string ClusterMetrics(const ClusterNumbers& numbers);

}  // namespace clusterd

#endif  // DAEMON_CONTROLLER_STATUS_CLUSTER_METRICS_H_
