// Gets a certificate for a host without a valid one. It asks a controller to
// join, at the enrolment port, or to renew late, at the port of all other
// calls. Also has the command clusterd join. It is safe by its order: it
// fetches the roots from any server at the address and compares them with a
// hash that the host was given. Then it opens a second connection, with these
// roots and to the controller's SPIFFE id. Only that one carries the token.
#ifndef DAEMON_AGENT_IDENTITY_ENROLMENT_CALL_H_
#define DAEMON_AGENT_IDENTITY_ENROLMENT_CALL_H_

#include <functional>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "config/identity/certificate.h"
#include "config/identity/root_bundle.h"
#include "daemon/audit/audit_log.h"
#include "proto/trust.pb.h"

namespace clusterd {

struct TrustedRoots {
  std::string cluster;
  std::string roots_pem;  // Only those that the hashes name.
};

// The number of tries for a busy or slow controller, the wait between them, and
// the number of consecutive unanswered tries after which it seems to be away.
struct CallPatience {
  int tries = 30;
  std::function<void(absl::Duration)> wait;
  // Draws from [0, 1).
  std::function<double()> random;
  int unanswered = 3;
};

// True if a retry may succeed after this status and this many consecutive
// unanswered tries. Joining may be retried: the same question has the same
// answer. `has_answered`: the controller answered an earlier call.
bool MayPass(const absl::Status& status, int unanswered,
             const CallPatience& patience, bool has_answered);

// PermissionDenied, with both hashes, if no root of the server at `address` has
// one of these; Unavailable if no server answers.
absl::StatusOr<TrustedRoots> FetchRoots(
    const std::string& address, const std::vector<std::string>& ca_hashes,
    const CallPatience& patience);

// Errors are the controller's (EnrolmentService); Unavailable, with the next
// step, if it cannot be reached.
absl::StatusOr<Enrolled> AskToJoin(const std::string& address,
                                   const TrustedRoots& roots,
                                   const JoinRequest& request,
                                   const CallPatience& patience);
// Renews with the expired certificate and its key: TLS proves that the key is
// this host's. `controller` is HOST:PORT as in agent.yaml.
absl::StatusOr<Enrolled> AskToRenewLate(const std::string& controller,
                                        const std::string& cluster,
                                        const TlsPem& pair);

// Returns the answer and `key_pem` as a pair if the certificate is of this key
// and of spiffe://`cluster`/host/`name`, issued by `roots`, and valid at `now`.
// Otherwise InvalidArgument or PermissionDenied, with the roots' news. `roots`
// are the result of TakeRootBundles for the answer.
absl::StatusOr<TlsPem> CheckedPair(const Enrolled& answer,
                                   const std::string& cluster,
                                   const Roots& roots,
                                   const std::string& key_pem, absl::Time now);

// clusterd join: gets a certificate of this host's own from the controller,
// with a key that never leaves the host. Run again with the same arguments, it
// finishes what was interrupted, or reports that nothing is left to do.
struct JoinFlags {
  std::string controller;  // HOST:PORT, as agent.yaml has it.
  std::vector<std::string> ca_hashes;
  std::string token;
  std::string token_file;
  std::string name;     // Empty: the host's own.
  std::string cluster;  // Empty: as the controller says.
  int enrol_port = 0;   // 0: the next after the controller's.
  std::string root = "/";
  std::string folder = "/etc/clusterd";  // Below the root.
  bool new_key = false;
};

// Dependencies of JoinCluster.
struct JoinTools {
  std::string host_name;
  std::string machine_id;
  std::function<absl::Time()> now;
  CallPatience patience;
  // Opens the audit file, for a line before and after a change; may be empty.
  std::function<std::unique_ptr<AuditLog>()> open_audit;
  std::ostream* out = nullptr;
};

// nullopt if the program should continue with JoinCluster; otherwise its exit
// status. `argv` begins with "join".
std::optional<int> ParseJoinFlags(int argc, const char* const* argv,
                                  JoinFlags* flags);

// An agent.yaml for a host without one, which allows only observing.
std::string AgentConfigText(const JoinFlags& flags, const std::string& cluster);

// Writes key, certificates and, if it is missing, agent.yaml. Errors say in one
// sentence what to do. It changes files in use only at the last moment, and
// nothing at all if the host already has this certificate. Unavailable if the
// audit file cannot be written, because a running clusterd holds it.
absl::Status JoinCluster(const JoinFlags& flags, const JoinTools& parts);

// Runs the whole command: 0 joined, 1 failed, 3 wrong usage. `state_of` returns
// the folder of the machine in which this host's daemon keeps its state.
int RunJoin(int argc, const char* const* argv,
            const std::function<std::string(const JoinFlags&)>& state_of);

}  // namespace clusterd

#endif  // DAEMON_AGENT_IDENTITY_ENROLMENT_CALL_H_
