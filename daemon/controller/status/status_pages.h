// What the status port shows:
//   /             what there is
//   /healthz      200 and a line for each part of the controller that got on,
//                 503 if one did not: "timers: no answer in 1s"
//   /metrics      cluster_metrics.h
//   /report       the newest check of the whole cluster, as HTML
//   /report.json  the same as clusterctl -o json has it
// A report's page is made once for each report, metrics and health at most once
// a second.
#ifndef DAEMON_CONTROLLER_STATUS_STATUS_PAGES_H_
#define DAEMON_CONTROLLER_STATUS_STATUS_PAGES_H_

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "daemon/controller/status/cluster_metrics.h"
#include "daemon/controller/status/http_server.h"
#include "daemon/process/watchdog.h"
#include "proto/finding.pb.h"

namespace clusterd {

// All is called on the server's threads, also several at once.
struct StatusSources {
  std::string cluster;
  std::function<ClusterNumbers()> numbers;
  std::function<std::shared_ptr<const Report>()> newest;
  std::function<absl::StatusOr<std::string>(const Report& report)> html;
  std::vector<WatchdogPart> parts;
  // How long the parts have to answer, and how long an answer is good.
  absl::Duration patience = absl::Seconds(1);
};

// What the sources use must outlive them.
std::map<std::string, HttpPage> MakeStatusPages(const StatusSources& sources);

}  // namespace clusterd

#endif  // DAEMON_CONTROLLER_STATUS_STATUS_PAGES_H_
