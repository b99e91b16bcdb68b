// One check: gathers the facts of its hosts, then judges what there is. A host
// without an answer costs one `unknown`, never the run.
#ifndef DAEMON_CONTROLLER_CHECK_RUN_H_
#define DAEMON_CONTROLLER_CHECK_RUN_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "daemon/controller/fact_run.h"
#include "proto/facts.pb.h"
#include "proto/finding.pb.h"
#include "proto/spec.pb.h"

namespace clusterd {

struct CheckOrder {
  std::string run_id;
  std::shared_ptr<const ClusterSpec> spec;
  std::vector<std::string> hosts;  // From SelectHosts.
  RuleSelection selection;         // REQUIRES: ValidateSelection is OK.
  NetworkNamespace network_namespace;
};

struct CheckCallbacks {
  // The run's progress() has news. From any thread, often; must not block.
  std::function<void()> on_progress;
  // Last, once, from a thread of the pool, unless cancelled before.
  std::function<void(Report report)> on_report;
};

// A run to be started; all parts must outlive it.
std::shared_ptr<FactRun> MakeCheckRun(CheckOrder order,
                                      const FactRun::Parts& parts,
                                      CheckCallbacks callbacks);

}  // namespace clusterd

#endif  // DAEMON_CONTROLLER_CHECK_RUN_H_
