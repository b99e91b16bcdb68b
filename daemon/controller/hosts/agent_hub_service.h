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

struct AdmittedHost {
  bool renews = false;
  std::string bound_to;  // Empty: to none, or to the machine that asks.
};

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
  // Why it may not attach with this certificate, PEM; else whether this
  // controller renews it, and the other machine that the name is bound to.
  // Asked before and right after. Null: with any, and it does not.
  std::function<absl::StatusOr<AdmittedHost>(
      const std::string& host, const std::string& machine_id,
      const std::string& certificate_pem)>
      admit;
  // For the certificate that comes after this one. `reply` as above.
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

// Of one host, whose prologs may be many where jobs share it. More at once are
// ResourceExhausted; whoever asks nonsense over and over is cut off.
inline constexpr int kMaxQuestionsOfHost = 512;
inline constexpr int kMaxRefusedOfHost = 128;  // In a row.
// Messages of a host that answer no task; one that sends more is cut off.
inline constexpr double kMaxUnaskedAtOnce = 16'384;
inline constexpr double kUnaskedPerSecond = 64;

class AgentHubService final : public AgentHub::CallbackService {
 public:
  // The parts must outlive the service and the server that it runs in.
  AgentHubService(const ControllerParts& parts, HostQuestions questions)
      : parts_(parts), questions_(std::move(questions)) {}

  // PermissionDenied, Unauthenticated or FailedPrecondition unless the gate
  // lets the peer in as a host of this cluster, also later; InvalidArgument or
  // FailedPrecondition for a bad hello; DeadlineExceeded for none;
  // FailedPrecondition when another machine holds the name; ResourceExhausted
  // for a host that does not read, or floods.
  grpc::ServerBidiReactor<AgentMessage, HubMessage>* Attach(
      grpc::CallbackServerContext* context) override;

 private:
  const ControllerParts parts_;
  const HostQuestions questions_;
};

}  // namespace clusterd

#endif  // DAEMON_CONTROLLER_HOSTS_AGENT_HUB_SERVICE_H_
