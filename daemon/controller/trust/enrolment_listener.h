// The port for hosts without a certificate. The controller binds it and starts
// a process that serves it (enrolment_process.h). Strangers may control that
// process, so its requests are not trusted, and JoinLimits bounds them here.
// The port is open only while a token is valid.
//   process ends, for any reason   restarted 0.1 s later, then twice as late
//                                  each time, up to 30 s; logged. Connections
//                                  wait meanwhile.
//   the last token has ended       ended, and the port closed
//   the controller ends            ended by it, otherwise by the kernel
#ifndef DAEMON_CONTROLLER_TRUST_ENROLMENT_LISTENER_H_
#define DAEMON_CONTROLLER_TRUST_ENROLMENT_LISTENER_H_

#include <sys/types.h>

#include <memory>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "config/identity/tls_credentials.h"
#include "daemon/controller/admission/connection_acceptor.h"
#include "daemon/controller/calls/controller_parts.h"
#include "daemon/controller/trust/enrolment_service.h"
#include "daemon/controller/trust/join_token.h"
#include "daemon/process/callback_gate.h"
#include "daemon/process/worker_pool.h"

namespace clusterd {

// Safe for concurrent use.
class EnrolmentListener {
 public:
  struct Options {
    std::string listen;  // ADDRESS:PORT; port 0 takes a free one, once.
    TlsFiles tls;        // The controller's.
    // The program to start: a clusterd-controller.
    std::string program = "/proc/self/exe";
    // How often to check if the port should be open.
    absl::Duration interval = absl::Seconds(30);
    // A connection's longest life; open calls then have ten seconds more.
    absl::Duration longest_connection = absl::Minutes(1);
    absl::Duration longest_idle = absl::Seconds(20);  // Without a call.
    // A process that has lived for longer did not fail at its start.
    absl::Duration good_life = absl::Minutes(1);
  };

  // Uses these parts: scheduler, pool, log and audit. All must outlive it.
  EnrolmentListener(Options options, EnrolmentService* service,
                    const ControllerParts& parts);
  ~EnrolmentListener();

  // Checks now, and then once every interval.
  void Start() { Poll(); }
  // Opens or closes as the service requires. Unavailable if it cannot listen;
  // also the errors of ReadTlsFiles. Closing leaves open joins unanswered.
  absl::Status Update() ABSL_LOCKS_EXCLUDED(mutex_);

  // 0 until it is first opened.
  int port() const ABSL_LOCKS_EXCLUDED(mutex_);
  bool is_open() const ABSL_LOCKS_EXCLUDED(mutex_);
  // The process that serves the port now; 0: none.
  pid_t process() const ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  class Keeper;  // Runs the process of an open port.

  absl::Status OpenLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void CloseLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Poll();

  const Options options_;
  EnrolmentService* const service_;
  const ControllerParts parts_;
  const CallbackGate gate_;
  JoinLimits limits_;
  // For joins, which write one at a time anyway.
  WorkerPool joins_;
  mutable absl::Mutex mutex_;
  std::string listen_ ABSL_GUARDED_BY(mutex_);
  int port_ ABSL_GUARDED_BY(mutex_) = 0;
  std::string reported_ ABSL_GUARDED_BY(mutex_);  // The last error.
  std::unique_ptr<ConnectionAcceptor> bound_ ABSL_GUARDED_BY(mutex_);
  std::unique_ptr<Keeper> keeper_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace clusterd

#endif  // DAEMON_CONTROLLER_TRUST_ENROLMENT_LISTENER_H_
