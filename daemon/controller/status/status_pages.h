// The pages of the status port:
//   /             a list of the others
//   /healthz      200 and a line for each part of the controller that made
//                 progress, 503 if one did not: "timers: no answer in 1s"
//   /metrics      ClusterMetrics
//   /report       the newest check of the whole cluster, as HTML
//   /report.json  the same as clusterctl -o json prints it
// A report's page is made once for each report, metrics and health at most once
// a second.
#ifndef DAEMON_CONTROLLER_STATUS_STATUS_PAGES_H_
#define DAEMON_CONTROLLER_STATUS_STATUS_PAGES_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "config/values/histogram.h"
#include "daemon/controller/status/http_server.h"
#include "daemon/process/watchdog.h"
#include "proto/controller.pb.h"
#include "proto/finding.pb.h"

namespace clusterd {

// The metrics for Prometheus: verdicts, not device counters. Only hosts of the
// spec have a series, so that strangers cannot create one; all other series are
// by rule, state or kind. `deploy/monitoring` uses each of them. Counters are
// zero at the controller's start. Pure.
struct ClusterNumbers {
  // As AttachedHosts::Entries returns them. Detached or drifted ones cause no
  // alert in maintenance.
  std::vector<HostEntry> hosts;
  // The newest check of the whole cluster; null: none yet.
  std::shared_ptr<const Report> newest;
  // Ended runs by outcome, as ClusterChanges::Ended.
  std::map<std::string, uint64_t> applies;
  Histogram attach_waits{{}};
  // When the controller's own end: "controller", "ca", "issuing-ca".
  std::vector<std::pair<std::string, absl::Time>> certificate_ends;
  absl::Time now;
  // The remaining life from which a host that renews here is late.
  absl::Duration late_renewal;
};

std::string ClusterMetrics(const ClusterNumbers& numbers);

// All are called on the server's threads, also concurrently.
struct StatusSources {
  std::string cluster;
  std::function<ClusterNumbers()> numbers;
  std::function<std::shared_ptr<const Report>()> newest;
  std::function<absl::StatusOr<std::string>(const Report& report)> html;
  std::vector<WatchdogPart> parts;
  // How long parts have to answer, and how long an answer is reused.
  absl::Duration patience = absl::Seconds(1);
};

// Everything that the sources use must outlive the pages.
std::map<std::string, HttpPage> MakeStatusPages(const StatusSources& sources);

}  // namespace clusterd

#endif  // DAEMON_CONTROLLER_STATUS_STATUS_PAGES_H_
