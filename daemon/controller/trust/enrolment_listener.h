// The port that hosts without a certificate call: a gRPC server of its own with
// the one service Enrolment, which shows the controller's certificate and asks
// for none. It is open only while the desk has a reason, so that as a rule
// there is nothing for a stranger to talk to.
#ifndef DAEMON_CONTROLLER_TRUST_ENROLMENT_LISTENER_H_
#define DAEMON_CONTROLLER_TRUST_ENROLMENT_LISTENER_H_

#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "config/identity/tls_credentials.h"
#include "daemon/controller/admission/connection_acceptor.h"
#include "daemon/controller/hosts/controller_parts.h"
#include "daemon/controller/trust/enrolment_desk.h"
#include "daemon/controller/trust/join_limits.h"
#include "daemon/process/callback_gate.h"
#include "daemon/process/worker_pool.h"
#include "grpcpp/server.h"
#include "grpcpp/support/server_callback.h"
#include "proto/trust.grpc.pb.h"

namespace clusterd {

class EnrolmentService final : public Enrolment::CallbackService {
 public:
  // Of the parts: scheduler and audit. All must outlive it and its server.
  EnrolmentService(EnrolmentDesk* desk, const ControllerParts& parts,
                   WorkerPool* pool)
      : desk_(desk), parts_(parts), pool_(pool) {}

  grpc::ServerUnaryReactor* Roots(grpc::CallbackServerContext* context,
                                  const RootsRequest* request,
                                  RootsResponse* response) override;
  // Errors as the desk's; ResourceExhausted beyond JoinLimits.
  grpc::ServerUnaryReactor* Join(grpc::CallbackServerContext* context,
                                 const JoinRequest* request,
                                 Enrolled* response) override;
  grpc::ServerUnaryReactor* RenewLate(grpc::CallbackServerContext* context,
                                      const RenewLateRequest* request,
                                      Enrolled* response) override;

 private:
  // On a thread of the pool, unless it is one too many: that is audited.
  grpc::ServerUnaryReactor* AnswerLimited(
      grpc::CallbackServerContext* context, const char* call,
      Enrolled* response,
      std::function<absl::StatusOr<Enrolled>(const std::string& peer)> ask);

  EnrolmentDesk* const desk_;
  const ControllerParts parts_;
  WorkerPool* const pool_;
  JoinLimits limits_;
};

// Safe for concurrent use.
class EnrolmentListener {
 public:
  struct Options {
    std::string listen;  // ADDRESS:PORT; port 0 takes a free one, once.
    TlsFiles tls;        // The controller's.
    // How often it looks whether it should be open.
    absl::Duration interval = absl::Seconds(30);
    // Of a connection; calls that are under way then have ten seconds.
    absl::Duration longest_connection = absl::Minutes(1);
    absl::Duration longest_idle = absl::Seconds(20);  // Without a call.
  };

  // Of the parts: scheduler, pool, log and audit. All must outlive it.
  EnrolmentListener(Options options, EnrolmentDesk* desk,
                    const ControllerParts& parts);
  ~EnrolmentListener();

  // Looks now, and from now on whenever the interval has passed.
  void Start();
  // Opens or closes as the desk says; waits for calls to end. Unavailable if
  // the address cannot be listened on; errors also as ReadTlsFiles.
  absl::Status Update() ABSL_LOCKS_EXCLUDED(mutex_);

  // 0 before it was open for the first time.
  int port() const ABSL_LOCKS_EXCLUDED(mutex_);
  bool is_open() const ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  absl::Status OpenLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void CloseLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Look();

  const Options options_;
  EnrolmentDesk* const desk_;
  const ControllerParts parts_;
  const CallbackGate gate_;
  // Of the calls: one at a time writes anyway.
  WorkerPool calls_;
  EnrolmentService service_;
  mutable absl::Mutex mutex_;
  std::string listen_ ABSL_GUARDED_BY(mutex_);
  int port_ ABSL_GUARDED_BY(mutex_) = 0;
  std::string told_ ABSL_GUARDED_BY(mutex_);  // The last trouble.
  std::unique_ptr<ConnectionAcceptor> acceptor_ ABSL_GUARDED_BY(mutex_);
  std::unique_ptr<grpc::Server> server_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace clusterd

#endif  // DAEMON_CONTROLLER_TRUST_ENROLMENT_LISTENER_H_
