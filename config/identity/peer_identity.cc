#include "config/identity/peer_identity.h"

#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "grpc/grpc_security_constants.h"

namespace clusterd {

absl::StatusOr<SpiffeId> RequirePeer(const grpc::AuthContext& context,
                                     const std::string& cluster,
                                     IdentityKind kind) {
  if (!context.IsPeerAuthenticated()) {
    return absl::UnauthenticatedError("no certificate was shown");
  }
  std::vector<std::string> uris;
  for (const grpc::string_ref& uri :
       context.FindPropertyValues(GRPC_PEER_URI_PROPERTY_NAME)) {
    uris.emplace_back(uri.data(), uri.size());
  }
  absl::StatusOr<SpiffeId> id = ParseUriNames(uris);
  if (!id.ok()) return absl::UnauthenticatedError(id.status().message());
  if (id->cluster != cluster) {
    return absl::PermissionDeniedError(absl::StrCat(
        id->ToString(), " is not of this cluster, \"", cluster, "\""));
  }
  if (id->kind != kind) {
    return absl::PermissionDeniedError(
        absl::StrCat(id->ToString(), " is a ", KindName(id->kind),
                     ", and only a ", KindName(kind), " may do this"));
  }
  return id;
}

}  // namespace clusterd
