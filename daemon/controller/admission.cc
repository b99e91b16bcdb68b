#include "daemon/controller/admission.h"

#include "absl/strings/str_cat.h"
#include "config/identity/tls_credentials.h"

namespace clusterd {

absl::string_view RoleName(Role role) {
  switch (role) {
    case Role::kViewer:
      return "viewer";
    case Role::kOperator:
      return "operator";
    case Role::kAdmin:
      return "admin";
  }
  return "unknown";
}

absl::Status RequireRole(const SpiffeId& user, Role needed,
                         absl::string_view call) {
  if (user.role >= needed) return absl::OkStatus();
  return absl::PermissionDeniedError(
      absl::StrCat(call, ": ", user.ToString(), " has the role ",
                   RoleName(user.role), ", expected ", RoleName(needed)));
}

absl::StatusOr<SpiffeId> AdmitUser(const grpc::CallbackServerContext& context,
                                   const std::string& cluster, Role needed,
                                   absl::string_view call, Log* log) {
  absl::StatusOr<SpiffeId> user =
      RequirePeer(*context.auth_context(), cluster, IdentityKind::kUser);
  if (user.ok()) {
    const absl::Status role = RequireRole(*user, needed, call);
    if (!role.ok()) user = role;
  }
  if (!user.ok()) {
    log->Warning(absl::StrCat("refused ", call, " to ", context.peer(), ": ",
                              std::string(user.status().message())));
  }
  return user;
}

}  // namespace clusterd
