// Observes through another observer and adds what this host allows a controller
// to change, so that plans leave out the rest.
#ifndef DAEMON_AGENT_ALLOWS_OBSERVER_H_
#define DAEMON_AGENT_ALLOWS_OBSERVER_H_

#include <functional>
#include <string>
#include <utility>

#include "daemon/host/host_observer.h"
#include "proto/facts.pb.h"

namespace clusterd {

// As safe for concurrent use as `read_allows` is.
class AllowsObserver final : public HostObserver {
 public:
  using ReadAllows = std::function<HostAllows()>;

  // `observer` must outlive it.
  AllowsObserver(HostObserver* observer, ReadAllows read_allows)
      : observer_(observer), read_allows_(std::move(read_allows)) {}

  // HostFacts.allows is as the file is now, also for another network namespace;
  // unset where nothing is known about that.
  HostFacts Observe(const std::string& host,
                    const ObserveRequest& request) override;

 private:
  HostObserver* const observer_;
  const ReadAllows read_allows_;
};

}  // namespace clusterd

#endif  // DAEMON_AGENT_ALLOWS_OBSERVER_H_
