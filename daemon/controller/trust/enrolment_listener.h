// The port that hosts without a certificate call. The controller binds it and
// starts a process that serves it (enrolment_process.h); what that process
// hands on is believed as little as the strangers that it talks to, and is held
// here to JoinLimits. It is open only while a token lives, so that as a rule
// there is nothing for a stranger to talk to.
//   process ends, whatever the reason  started again, 0.1 s later, then twice
//                                      as late each time, up to 30 s; logged.
//                                      Who connects in between waits.
//   no token lives any more            ended, and the port closed
//   the controller ends                ended by it, or else by the kernel
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
#include "daemon/controller/hosts/controller_parts.h"
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
    // What is started: a clusterd-controller.
    std::string program = "/proc/self/exe";
    // How often it looks whether it should be open.
    absl::Duration interval = absl::Seconds(30);
    // Of a connection; calls that are under way then have ten seconds.
    absl::Duration longest_connection = absl::Minutes(1);
    absl::Duration longest_idle = absl::Seconds(20);  // Without a call.
    // A process that has lived for longer did not end because it began.
    absl::Duration good_life = absl::Minutes(1);
  };

  // Of the parts: scheduler, pool, log and audit. All must outlive it.
  EnrolmentListener(Options options, EnrolmentService* desk,
                    const ControllerParts& parts);
  ~EnrolmentListener();

  // Looks now, and from now on whenever the interval has passed.
  void Start() { Look(); }
  // Opens or closes as the desk says. Unavailable if the address cannot be
  // listened on; errors also as ReadTlsFiles. A join that is under way when it
  // closes has no answer.
  absl::Status Update() ABSL_LOCKS_EXCLUDED(mutex_);

  // 0 before it was open for the first time.
  int port() const ABSL_LOCKS_EXCLUDED(mutex_);
  bool is_open() const ABSL_LOCKS_EXCLUDED(mutex_);
  // That serves the port now; 0: none.
  pid_t process() const ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  class Keeper;  // Of a process while the port is open.

  absl::Status OpenLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void CloseLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Look();

  const Options options_;
  EnrolmentService* const desk_;
  const ControllerParts parts_;
  const CallbackGate gate_;
  JoinLimits limits_;
  // Of the joins: one at a time writes anyway.
  WorkerPool joins_;
  mutable absl::Mutex mutex_;
  std::string listen_ ABSL_GUARDED_BY(mutex_);
  int port_ ABSL_GUARDED_BY(mutex_) = 0;
  std::string told_ ABSL_GUARDED_BY(mutex_);  // The last trouble.
  std::unique_ptr<ConnectionAcceptor> bound_ ABSL_GUARDED_BY(mutex_);
  std::unique_ptr<Keeper> keeper_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace clusterd

#endif  // DAEMON_CONTROLLER_TRUST_ENROLMENT_LISTENER_H_
