// Observes through another observer and adds what drifted since the applies on
// this host.
#ifndef DAEMON_AGENT_DRIFT_OBSERVER_H_
#define DAEMON_AGENT_DRIFT_OBSERVER_H_

#include <string>

#include "daemon/agent/applies_record.h"
#include "daemon/host/host_observer.h"

namespace clusterd {

// Safe for concurrent use.
class DriftObserver final : public HostObserver {
 public:
  // Both must outlive it.
  DriftObserver(HostObserver* observer, const AppliesRecord* record)
      : observer_(observer), record_(record) {}

  // HostFacts.drift stays unset in another network namespace: applies there are
  // not told of.
  HostFacts Observe(const std::string& host,
                    const ObserveRequest& request) override;

 private:
  HostObserver* const observer_;
  const AppliesRecord* const record_;
};

}  // namespace clusterd

#endif  // DAEMON_AGENT_DRIFT_OBSERVER_H_
