// The gRPC service that hosts attach to: authenticates a host, reads its hello,
// then moves messages between its stream and AttachedHosts.
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
  // Returns why the host may not attach with this certificate, PEM; otherwise
  // if it is renewed here, and the other machine that owns the name. Called
  // before and right after it attaches. Null: all may attach, none is renewed.
  std::function<absl::StatusOr<AdmittedHost>(
      const std::string& host, const std::string& machine_id,
      const std::string& certificate_pem)>
      admit;
  // Asks for the next certificate. `reply` as above.
  std::function<void(const std::string& host,
                     const std::string& certificate_pem,
                     CertificateRequest request,
                     std::function<void(CertificateAnswer answer)> reply)>
      certificate;
  // The time in which all hosts can attach again.
  std::function<absl::Duration()> spread = [] { return absl::ZeroDuration(); };
  // Welcome.roots_bundle.
  uint64_t roots_bundle = 0;
};

// Questions of one host at once, which may have many jobs; more are
// ResourceExhausted. Repeated invalid questions cut the host off.
inline constexpr int kMaxQuestionsOfHost = 512;
inline constexpr int kMaxRefusedOfHost = 128;  // Consecutive.
// Unrequested messages of a host; one that sends more is cut off.
inline constexpr double kMaxUnaskedAtOnce = 16'384;
inline constexpr double kUnaskedPerSecond = 64;

class AgentHubService final : public AgentHub::CallbackService {
 public:
  // The parts must outlive the service and the server that it runs in.
  AgentHubService(const ControllerParts& parts, HostQuestions questions)
      : parts_(parts), questions_(std::move(questions)) {}

  // PermissionDenied, Unauthenticated or FailedPrecondition unless the gate
  // admits the peer as a host of this cluster, also later. InvalidArgument or
  // FailedPrecondition for a bad hello; DeadlineExceeded without one.
  // FailedPrecondition if another machine holds the name; ResourceExhausted for
  // a host that does not read, or floods.
  grpc::ServerBidiReactor<AgentMessage, HubMessage>* Attach(
      grpc::CallbackServerContext* context) override;

 private:
  const ControllerParts parts_;
  const HostQuestions questions_;
};

}  // namespace clusterd

#endif  // DAEMON_CONTROLLER_HOSTS_AGENT_HUB_SERVICE_H_
