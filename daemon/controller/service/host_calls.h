// The calls about the hosts and the spec, and the cluster as it is now.
#ifndef DAEMON_CONTROLLER_SERVICE_HOST_CALLS_H_
#define DAEMON_CONTROLLER_SERVICE_HOST_CALLS_H_

#include "daemon/controller/service/controller_calls.h"
#include "daemon/controller/watch/cluster_watch.h"

namespace clusterd {

class HostCalls : public virtual ControllerCalls {
 public:
  HostCalls(const ControllerParts& parts, ClusterWatch* watch)
      : ControllerCalls(parts), watch_(watch) {}

  UnaryCall* ListHosts(CallContext*, const ListHostsRequest*,
                       ListHostsResponse*) override;
  // NotFound for a host that is neither in the spec nor remembered,
  // FailedPrecondition for one that is attached.
  UnaryCall* ForgetHost(CallContext*, const ForgetHostRequest*,
                        ForgetHostResponse*) override;
  // NotFound for a host neither in the spec nor attached; ResourceExhausted
  // when too many are described. If a host does not answer, its facts say so.
  UnaryCall* DescribeHost(CallContext*, const DescribeHostRequest*,
                          DescribeHostResponse*) override;
  UnaryCall* GetSpec(CallContext*, const GetSpecRequest*,
                     GetSpecResponse*) override;
  // ResourceExhausted when too many clients watch.
  StreamCall<ClusterNow>* Watch(CallContext*, const WatchRequest*) override;

 private:
  ClusterWatch* const watch_;
};

}  // namespace clusterd

#endif  // DAEMON_CONTROLLER_SERVICE_HOST_CALLS_H_
