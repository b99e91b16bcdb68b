// How a host without a good certificate gets one: what it asks a controller, to
// join, at the enrolment port, and to renew late, at the port of all other
// calls; and the command clusterd join.
// The order is what makes it safe: the roots are fetched from whoever answers
// and compared with a hash that the host was told; only then a second
// connection is opened, by those roots and to the controller's SPIFFE id, and
// only that one carries the token.
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
  std::string roots_pem;  // Those that the hashes name, and no other.
};

// How often a controller that is busy or slow is asked, one that has not
// answered at all three times of these, and how it is waited in between.
struct CallPatience {
  int tries = 30;
  std::function<void(absl::Duration)> wait;
  // Draws from [0, 1).
  std::function<double()> random;
};

// Whether what came of the call, after so many tries, may be better the next
// time. Joining may be tried again: the same question has the same answer.
// `has_answered`: the controller, to another call before.
bool MayPass(const absl::Status& status, int tries, bool has_answered);

// PermissionDenied, with both hashes, if none of the roots of whoever answers
// at `address` has one of these; Unavailable if nobody does.
absl::StatusOr<TrustedRoots> FetchRoots(
    const std::string& address, const std::vector<std::string>& ca_hashes,
    const CallPatience& patience);

// Errors are the controller's, as EnrolmentService has them; Unavailable, with
// what to do, if it is not there.
absl::StatusOr<Enrolled> AskToJoin(const std::string& address,
                                   const TrustedRoots& roots,
                                   const JoinRequest& request,
                                   const CallPatience& patience);
// By the pair of a host whose certificate has ended: TLS proves that the key is
// this host's. `controller` is HOST:PORT as agent.yaml has it.
absl::StatusOr<Enrolled> AskToRenewLate(const std::string& controller,
                                        const std::string& cluster,
                                        const TlsPem& pair);

// The answer as a pair with `key_pem`, checked: the certificate is of this key,
// of spiffe://`cluster`/host/`name`, issued by `roots`, and valid at `now`;
// else InvalidArgument or PermissionDenied, with the roots' news. `roots` are
// those that TakeRootBundles makes of the answer.
absl::StatusOr<TlsPem> CheckedPair(const Enrolled& answer,
                                   const std::string& cluster,
                                   const Roots& roots,
                                   const std::string& key_pem, absl::Time now);

// clusterd join: this host gets a certificate of its own from the controller,
// with a key that it makes and that never leaves it. Run again, with the same
// words, it finishes what was cut off, or finds that nothing is left to do.
struct JoinFlags {
  std::string controller;  // HOST:PORT, as agent.yaml has it.
  std::vector<std::string> ca_hashes;
  std::string token;
  std::string token_file;
  std::string name;     // Empty: the host's own.
  std::string cluster;  // Empty: as the controller says.
  int enrol_port = 0;   // 0: the one after the controller's.
  std::string root = "/";
  std::string folder = "/etc/clusterd";  // Below the root.
  bool new_key = false;
};

// What it stands on.
struct JoinTools {
  std::string host_name;
  std::string machine_id;
  std::function<absl::Time()> now;
  CallPatience patience;
  // Opens this host's audit file, which has a line before and after what is
  // changed; empty: nobody keeps one.
  std::function<std::unique_ptr<AuditLog>()> open_audit;
  std::ostream* out = nullptr;
};

// Nothing when the program should go on to JoinCluster; else the status that it
// should exit with. `argv` begins with "join".
std::optional<int> ParseJoinFlags(int argc, const char* const* argv,
                                  JoinFlags* flags);

// The agent.yaml of a host that has none: it is only observed.
std::string AgentConfigText(const JoinFlags& flags, const std::string& cluster);

// Writes key, certificates and, if there is none, agent.yaml. Errors say in one
// sentence what to do; until the last moment nothing that counts is changed,
// and nothing at all where the host has this very certificate already.
// Unavailable if the audit file cannot be written, which clusterd does while it
// runs.
absl::Status JoinCluster(const JoinFlags& flags, const JoinTools& parts);

// The whole command, on this machine: 0 joined, 1 not, 3 wrong usage.
// `state_of` says in which folder of the machine this host's daemon keeps its
// state.
int RunJoin(int argc, const char* const* argv,
            const std::function<std::string(const JoinFlags&)>& state_of);

}  // namespace clusterd

#endif  // DAEMON_AGENT_IDENTITY_ENROLMENT_CALL_H_
