// The gRPC service that hosts attach to: authenticates a host, reads its hello,
// then moves messages between its stream and AttachedHosts.
#ifndef DAEMON_CONTROLLER_HOSTS_AGENT_HUB_SERVICE_H_
#define DAEMON_CONTROLLER_HOSTS_AGENT_HUB_SERVICE_H_

#include <functional>
#include <string>
#include <utility>

#include "daemon/controller/calls/controller_parts.h"
#include "daemon/controller/hosts/attached_hosts.h"
#include "daemon/process/allowance.h"
#include "grpcpp/support/server_callback.h"
#include "proto/agent_hub.grpc.pb.h"

namespace clusterd {

struct AdmittedHost {
  bool renews = false;
  std::string bound_to;  // Empty: unbound, or the same machine.
};

// Questions of hosts. Called on the streams' threads; must not block. The name
// is the certificate's; other input of the host is unchecked.
struct HostQuestions {
  // `reply` is called once, from any thread, possibly at once.
  std::function<void(const std::string& host, JobQuestion question,
                     std::function<void(JobAnswer answer)> reply)>
      job;
  std::function<DrainAnswer(const std::string& host,
                            const DrainQuestion& question)>
      drain;
  // Returns why the host may not attach with this certificate, PEM. Otherwise
  // returns if it is renewed here, and which other machine owns the name.
  // Called before and right after it attaches. Null: admits all, renews none.
  std::function<absl::StatusOr<AdmittedHost>(
      const std::string& host, const std::string& machine_id,
      const std::string& certificate_pem)>
      admit;
  // Issues the host's next certificate; called on the pool. Null: there is no
  // CA.
  std::function<absl::StatusOr<Enrolled>(const std::string& host,
                                         const std::string& certificate_pem,
                                         const std::string& signing_request)>
      renew;
  // How long all hosts may take to attach again.
  std::function<absl::Duration()> spread = [] { return absl::ZeroDuration(); };
  // Welcome.roots_bundle.
  uint64_t roots_bundle = 0;
};

// The most open questions of one host, which may have many jobs; beyond,
// ResourceExhausted. A host is disconnected for repeated invalid questions.
inline constexpr int kMaxQuestionsOfHost = 512;
inline constexpr int kMaxRefusedOfHost = 128;  // Consecutive.
// Unrequested messages of a host, which is disconnected beyond this. In the
// largest plan, each step may end once and be undone once.
inline constexpr AllowanceLimits kUnasked = {16'384, 64};

class AgentHubService final : public AgentHub::CallbackService {
 public:
  // The parts must outlive the service and the server that it runs in.
  AgentHubService(const ControllerParts& parts, HostQuestions questions)
      : parts_(parts), questions_(std::move(questions)) {}

  // PermissionDenied, Unauthenticated or FailedPrecondition unless the gate
  // admits the peer as a host of this cluster, at any time. InvalidArgument or
  // FailedPrecondition for a bad hello; DeadlineExceeded without one.
  // FailedPrecondition if another machine holds the name; ResourceExhausted for
  // a host that does not read, or sends too much.
  grpc::ServerBidiReactor<AgentMessage, HubMessage>* Attach(
      grpc::CallbackServerContext* context) override;

 private:
  const ControllerParts parts_;
  const HostQuestions questions_;
};

}  // namespace clusterd

#endif  // DAEMON_CONTROLLER_HOSTS_AGENT_HUB_SERVICE_H_
