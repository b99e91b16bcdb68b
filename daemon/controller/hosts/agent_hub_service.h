// The gRPC service that hosts attach to: checks who dials, reads its hello, and
// from then on moves messages between its stream and AttachedHosts.
#ifndef DAEMON_CONTROLLER_HOSTS_AGENT_HUB_SERVICE_H_
#define DAEMON_CONTROLLER_HOSTS_AGENT_HUB_SERVICE_H_

#include <functional>
#include <string>
#include <utility>

#include "daemon/controller/hosts/attached_hosts.h"
#include "daemon/controller/hosts/controller_parts.h"
#include "grpcpp/support/server_callback.h"
#include "proto/agent_hub.grpc.pb.h"

namespace clusterd {

// What hosts ask. Called on the streams' threads; must not block. The host is
// the certificate's, and nothing that it sent has been looked at.
struct HostQuestions {
  // `reply` is called once, from any thread, possibly at once.
  std::function<void(const std::string& host, JobQuestion question,
                     std::function<void(JobAnswer answer)> reply)>
      job;
  std::function<DrainAnswer(const std::string& host,
                            const DrainQuestion& question)>
      drain;
};

// Of one host, whose prologs may be many where jobs share it. More at once are
// ResourceExhausted; whoever asks nonsense over and over is cut off.
inline constexpr int kMaxQuestionsOfHost = 512;
inline constexpr int kMaxRefusedOfHost = 128;  // In a row.

class AgentHubService final : public AgentHub::CallbackService {
 public:
  // The parts must outlive the service and the server that it runs in.
  explicit AgentHubService(const ControllerParts& parts,
                           HostQuestions questions = {})
      : parts_(parts), questions_(std::move(questions)) {}

  // PermissionDenied or Unauthenticated unless the peer is a host of this
  // cluster; InvalidArgument or FailedPrecondition for a bad hello;
  // DeadlineExceeded for none; FailedPrecondition when another machine holds
  // the name; ResourceExhausted for a host that does not read.
  grpc::ServerBidiReactor<AgentMessage, HubMessage>* Attach(
      grpc::CallbackServerContext* context) override;

 private:
  const ControllerParts parts_;
  const HostQuestions questions_;
};

}  // namespace clusterd

#endif  // DAEMON_CONTROLLER_HOSTS_AGENT_HUB_SERVICE_H_
