#include "daemon/agent/allows_observer.h"

namespace clusterd {

HostFacts AllowsObserver::Observe(const std::string& host,
                                  const ObserveRequest& request) {
  HostFacts facts = observer_->Observe(host, request);
  if (!facts.has_missing()) *facts.mutable_allows() = read_allows_();
  return facts;
}

}  // namespace clusterd
