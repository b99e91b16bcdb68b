#include "daemon/controller/plan_run.h"

#include <utility>

#include "absl/time/time.h"
#include "config/plan/make_plan.h"
#include "config/rules/judge.h"

namespace clusterd {

std::shared_ptr<FactRun> MakePlanRun(PlanOrder order,
                                     const FactRun::Parts& parts,
                                     PlanCallbacks callbacks) {
  const auto shared = std::make_shared<const PlanOrder>(std::move(order));
  FactRun::Callbacks facts;
  facts.on_progress = std::move(callbacks.on_progress);
  facts.on_facts = [shared, on_plan = std::move(callbacks.on_plan),
                    scheduler =
                        parts.scheduler](const std::vector<HostFacts>& all) {
    std::vector<const HostFacts*> pointers;
    pointers.reserve(all.size());
    for (const HostFacts& host : all) pointers.push_back(&host);
    ClusterPlan plan =
        MakePlan(*shared->spec, pointers, shared->network_namespace);
    plan.set_plan_id(shared->plan_id);
    plan.set_created_at_ms(absl::ToUnixMillis(scheduler->Now()));
    plan.set_created_by(shared->actor);
    on_plan(std::move(plan));
  };
  return std::make_shared<FactRun>(
      shared->spec, shared->hosts,
      MakeObserveRequest(*shared->spec, shared->network_namespace), parts,
      std::move(facts));
}

}  // namespace clusterd
