#include "daemon/controller/check_run.h"

#include <utility>

#include "absl/time/time.h"
#include "config/rules/judge.h"
#include "config/spec/network_namespace.h"
#include "config/version/version.h"

namespace clusterd {
namespace {

Report MakeReport(const CheckOrder& order, const std::vector<HostFacts>& facts,
                  absl::Time started_at, Scheduler* scheduler) {
  std::vector<const HostFacts*> pointers;
  pointers.reserve(facts.size());
  for (const HostFacts& host : facts) pointers.push_back(&host);
  JudgeOptions options;
  options.selection = order.selection;
  options.network_namespace = NetworkNamespaceText(order.network_namespace);
  Report report = BuildReport(*order.spec, pointers, options);
  report.set_run_id(order.run_id);
  report.set_started_at_ms(absl::ToUnixMillis(started_at));
  report.set_elapsed_ms(static_cast<uint64_t>(
      absl::ToInt64Milliseconds(scheduler->Now() - started_at)));
  report.set_clusterd_version(kClusterdVersion);
  return report;
}

}  // namespace

std::shared_ptr<FactRun> MakeCheckRun(CheckOrder order,
                                      const FactRun::Parts& parts,
                                      CheckCallbacks callbacks) {
  const auto shared = std::make_shared<const CheckOrder>(std::move(order));
  FactRun::Callbacks facts;
  facts.on_progress = std::move(callbacks.on_progress);
  facts.on_facts = [shared, on_report = std::move(callbacks.on_report),
                    started_at = parts.scheduler->Now(),
                    scheduler =
                        parts.scheduler](const std::vector<HostFacts>& all) {
    on_report(MakeReport(*shared, all, started_at, scheduler));
  };
  return std::make_shared<FactRun>(
      shared->spec, shared->hosts,
      MakeObserveRequest(*shared->spec, shared->network_namespace), parts,
      std::move(facts));
}

}  // namespace clusterd
