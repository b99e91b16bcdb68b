#include "daemon/agent/drift_observer.h"

namespace clusterd {

HostFacts DriftObserver::Observe(const std::string& host,
                                 const ObserveRequest& request) {
  const uint64_t count = record_->change_count();
  HostFacts facts = observer_->Observe(host, request);
  if (request.has_network_namespace()) return facts;
  *facts.mutable_drift() = record_->DriftOf(facts, count);
  return facts;
}

}  // namespace clusterd
