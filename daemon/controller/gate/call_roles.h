// Who may call what: a row for every method of every service that a program of
// ours serves. A test compares the rows with the services' descriptors, and the
// certificates x calls test is generated from them. A service that is added is
// rows in the .cc, and a call of CheckCallRole where it admits its users:
//   {"Controller", "ListHosts", Caller::kUser, Role::kViewer}
//   {"Controller", "ApplyPlan", Caller::kUser, Role::kOperator, "force",
//    Role::kAdmin}
//   {"AgentHub", "Attach", Caller::kHost}
#ifndef DAEMON_CONTROLLER_GATE_CALL_ROLES_H_
#define DAEMON_CONTROLLER_GATE_CALL_ROLES_H_

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "config/identity/certificate.h"
#include "google/protobuf/message.h"

namespace clusterd {

// What somebody has to be before roles are looked at.
enum class Caller {
  kUser,  // A user's certificate, in the row's role or one above.
  kHost,  // A host's certificate: it speaks for itself alone.
  // The same, also where it has ended and its key is on record.
  kEndedHost,
  kSocket,   // Whoever may open the unix socket of the host's own daemon.
  kAnybody,  // No certificate yet: the request itself has to prove who it is.
};

struct CallRole {
  absl::string_view service;  // Without the package.
  absl::string_view method;
  Caller caller;
  // Of users.
  Role role = Role::kAdmin;
  // A request that has this field set needs `role_if_set` and not `role`.
  absl::string_view field = {};
  Role role_if_set = Role::kAdmin;
};

// In the order of the services.
absl::Span<const CallRole> AllCallRoles();

// PermissionDenied, for the user to read, naming both roles, if the user's is
// not enough for this request; Internal for a call that has no row or is not
// for users.
absl::Status CheckCallRole(absl::string_view service, absl::string_view method,
                           const google::protobuf::Message& request,
                           const SpiffeId& user);

}  // namespace clusterd

#endif  // DAEMON_CONTROLLER_GATE_CALL_ROLES_H_
