// The gRPC service that hosts attach to: checks who dials, reads its hello, and
// from then on moves messages between its stream and AttachedHosts.
#ifndef DAEMON_CONTROLLER_HOSTS_AGENT_HUB_SERVICE_H_
#define DAEMON_CONTROLLER_HOSTS_AGENT_HUB_SERVICE_H_

#include "daemon/controller/hosts/attached_hosts.h"
#include "daemon/controller/hosts/controller_parts.h"
#include "grpcpp/support/server_callback.h"
#include "proto/agent_hub.grpc.pb.h"

namespace clusterd {

class AgentHubService final : public AgentHub::CallbackService {
 public:
  // The parts must outlive the service and the server that it runs in.
  explicit AgentHubService(const ControllerParts& parts) : parts_(parts) {}

  // PermissionDenied or Unauthenticated unless the peer is a host of this
  // cluster; InvalidArgument or FailedPrecondition for a bad hello;
  // DeadlineExceeded for none; FailedPrecondition when another machine holds
  // the name; ResourceExhausted for a host that does not read.
  grpc::ServerBidiReactor<AgentMessage, HubMessage>* Attach(
      grpc::CallbackServerContext* context) override;

 private:
  const ControllerParts parts_;
};

}  // namespace clusterd

#endif  // DAEMON_CONTROLLER_HOSTS_AGENT_HUB_SERVICE_H_
