// Which user may call what, by the certificate alone. Refusals are logged with
// what was asked for and from where.
#ifndef DAEMON_CONTROLLER_ADMISSION_H_
#define DAEMON_CONTROLLER_ADMISSION_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "config/identity/certificate.h"
#include "daemon/process/log.h"
#include "grpcpp/server_context.h"

namespace clusterd {

// "viewer", "operator" or "admin".
absl::string_view RoleName(Role role);

// PermissionDenied naming both roles if the user's is not enough.
absl::Status RequireRole(const SpiffeId& user, Role needed,
                         absl::string_view call);

// The user who calls. Unauthenticated or PermissionDenied unless it is a user
// of this cluster in the role that `call` needs.
absl::StatusOr<SpiffeId> AdmitUser(const grpc::CallbackServerContext& context,
                                   const std::string& cluster, Role needed,
                                   absl::string_view call, Log* log);

}  // namespace clusterd

#endif  // DAEMON_CONTROLLER_ADMISSION_H_
