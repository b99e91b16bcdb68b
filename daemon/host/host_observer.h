// Observes one machine, changing nothing.
#ifndef DAEMON_HOST_HOST_OBSERVER_H_
#define DAEMON_HOST_HOST_OBSERVER_H_

#include <string>

#include "daemon/host/command/clock.h"
#include "proto/facts.pb.h"

namespace clusterd {

// Safe for concurrent use; observations of one object never run hccn_tool twice
// at the same time on one device.
class HostObserver {
 public:
  virtual ~HostObserver() = default;

  // Returns facts of this machine under the name `host`. Always returns: if a
  // request's deadline prevents a fact, the fact has that reason. If the asker
  // no longer wants the result, it skips what it has not read yet, if possible.
  virtual HostFacts ObserveFor(const std::string& host,
                               const ObserveRequest& request,
                               const Asker& asker) = 0;
  HostFacts Observe(const std::string& host, const ObserveRequest& request) {
    return ObserveFor(host, request, Asker());
  }
};

}  // namespace clusterd

#endif  // DAEMON_HOST_HOST_OBSERVER_H_
