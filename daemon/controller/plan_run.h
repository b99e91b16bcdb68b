// One plan: gathers the facts of its hosts, then plans what apply would do to
// each. Changes nothing; a host without an answer is blocked, with the reason.
#ifndef DAEMON_CONTROLLER_PLAN_RUN_H_
#define DAEMON_CONTROLLER_PLAN_RUN_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "daemon/controller/fact_run.h"
#include "proto/facts.pb.h"
#include "proto/plan.pb.h"
#include "proto/spec.pb.h"

namespace clusterd {

struct PlanOrder {
  std::string plan_id;
  std::string actor;  // The user's name.
  std::shared_ptr<const ClusterSpec> spec;
  std::vector<std::string> hosts;  // From SelectHosts.
  NetworkNamespace network_namespace;
};

struct PlanCallbacks {
  // The run's progress() has news. From any thread, often; must not block.
  std::function<void()> on_progress;
  // Last, once, from a thread of the pool, unless cancelled before. With id,
  // time and actor.
  std::function<void(ClusterPlan plan)> on_plan;
};

// A run to be started; all parts must outlive it.
std::shared_ptr<FactRun> MakePlanRun(PlanOrder order,
                                     const FactRun::Parts& parts,
                                     PlanCallbacks callbacks);

}  // namespace clusterd

#endif  // DAEMON_CONTROLLER_PLAN_RUN_H_
