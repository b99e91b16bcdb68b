// The gRPC service that hosts attach to: checks who dials, reads its hello, and
// from then on moves messages between its stream and AttachedHosts.
#ifndef DAEMON_CONTROLLER_AGENT_HUB_SERVICE_H_
#define DAEMON_CONTROLLER_AGENT_HUB_SERVICE_H_

#include <string>

#include "absl/time/time.h"
#include "daemon/controller/attached_hosts.h"
#include "daemon/log/log.h"
#include "daemon/process/scheduler.h"
#include "grpcpp/support/server_callback.h"
#include "proto/agent_hub.grpc.pb.h"

namespace clusterd {

struct AgentHubOptions {
  std::string cluster;
  // From the start of a stream to its first message.
  absl::Duration hello_timeout = absl::Seconds(10);
  // Messages that wait to be sent to one host; one that does not read them is
  // cut off.
  size_t max_queued = 256;
};

class AgentHubService final : public AgentHub::CallbackService {
 public:
  // All pointers must outlive the service and the server that it runs in.
  AgentHubService(AgentHubOptions options, AttachedHosts* hosts,
                  Scheduler* scheduler, Log* log);

  // PermissionDenied or Unauthenticated unless the peer is a host of this
  // cluster; InvalidArgument or FailedPrecondition for a bad hello;
  // DeadlineExceeded for none; FailedPrecondition when another machine holds
  // the name.
  grpc::ServerBidiReactor<AgentMessage, HubMessage>* Attach(
      grpc::CallbackServerContext* context) override;

 private:
  const AgentHubOptions options_;
  AttachedHosts* const hosts_;
  Scheduler* const scheduler_;
  Log* const log_;
};

}  // namespace clusterd

#endif  // DAEMON_CONTROLLER_AGENT_HUB_SERVICE_H_
