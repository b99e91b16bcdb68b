// Looks at one machine and says what it is. Changes nothing.
#ifndef DAEMON_HOST_HOST_OBSERVER_H_
#define DAEMON_HOST_HOST_OBSERVER_H_

#include <string>

#include "proto/facts.pb.h"

namespace clusterd {

// Safe for concurrent use; observations of one object never run hccn_tool twice
// at the same time on one device.
class HostObserver {
 public:
  virtual ~HostObserver() = default;

  // Facts of this machine under the name `host`. Always returns: what cannot be
  // read within the request's deadlines is a reason in its fact.
  virtual HostFacts Observe(const std::string& host,
                            const ObserveRequest& request) = 0;
};

}  // namespace clusterd

#endif  // DAEMON_HOST_HOST_OBSERVER_H_
