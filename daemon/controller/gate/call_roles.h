// Authorisation: a row for every method of every service that our programs
// serve. A test compares the rows with the services' descriptors, and the tests
// of certificates against calls are generated from them. A new service needs
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

// The kind of caller, which is checked before the role.
enum class Caller {
  kUser,  // A user's certificate, in the row's role or one above.
  kHost,  // A host's certificate: it speaks only for itself.
  // A host's certificate, or an ended one whose key is on record.
  kEndedHost,
  kSocket,   // A user that may open the unix socket of the host's daemon.
  kAnybody,  // Needs no certificate; the request proves the identity.
};

struct CallRole {
  absl::string_view service;  // Without the package.
  absl::string_view method;
  Caller caller;
  // For users.
  Role role = Role::kAdmin;
  // A request with this field set needs `role_if_set` instead of `role`.
  absl::string_view field = {};
  Role role_if_set = Role::kAdmin;
};

// Sorted like the services.
absl::Span<const CallRole> AllCallRoles();

// PermissionDenied if the user's role is insufficient, naming both roles for
// the user to read; Internal for a call without a row or not for users.
absl::Status CheckCallRole(absl::string_view service, absl::string_view method,
                           const google::protobuf::Message& request,
                           const SpiffeId& user);

}  // namespace clusterd

#endif  // DAEMON_CONTROLLER_GATE_CALL_ROLES_H_
